/** Sentences as a terminal shows them: broken between words, and what is to be copied whole. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';
import { wrapText } from './table.js';

/** A command to copy that ends a sentence. */
const COMMAND_AT_END = /^(.*:) (flywheel .*)$/;

/** A sentence on one line, or, on a terminal that is too narrow for it, on several; a command at its end stands on its own. */
export function sentenceLines(
  text: string,
  { isTTY, columns }: Pick<OutputStream, 'isTTY' | 'columns'>,
): readonly string[] {
  const line = safeLine(text);
  if (!isTTY || line.length <= columns) return [line];
  const [, before, command] = COMMAND_AT_END.exec(line) ?? [];
  if (before === undefined || command === undefined) return wrapText(line, columns);
  return [...wrapText(before, columns), command];
}
