/** Sentences as a terminal shows them: broken between words, and what is to be copied whole. */
import type { OutputStream } from '../context.js';
import { safeLine } from './safe-text.js';
import { indented } from './table.js';

/** A command to copy that ends a sentence of ours; an error may be in the words of others. */
const COMMAND_AT_END = /^(?!error:)(.*:) (flywheel .*)$/;

/** A sentence on one line, or, on a terminal that is too narrow for it, on several; a command at its end stands on its own. */
export function sentenceLines(
  text: string,
  { isTTY, columns }: Pick<OutputStream, 'isTTY' | 'columns'>,
): readonly string[] {
  const line = safeLine(text);
  if (!isTTY || line.length <= columns) return [line];
  const [, before, command] = COMMAND_AT_END.exec(line) ?? [];
  if (before === undefined || command === undefined) return indented('', line, columns);
  return [...indented('', before, columns), command];
}
