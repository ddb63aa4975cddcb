/** The part of a command's help that commander does not write: what it prints, how it fails, lines to run. */
import { ERRORS } from '../../errors/codes.js';
import type { HelpTexts } from '../command.js';

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

/** Output, errors and examples of a command as text. */
export function helpSections({ output, csv, errors, examples }: HelpTexts): string {
  const exits = errors.map((code) => `${code.padEnd(34)} exit ${ERRORS[code].exit}`);
  return [
    'Output:',
    ...indent(output),
    ...(csv === undefined ? [] : indent([`csv: ${csv.join(', ')}`])),
    ...(exits.length === 0 ? [] : ['', 'Errors:', ...indent(exits)]),
    '',
    'Examples:',
    ...indent(examples.map((line) => `$ ${line}`)),
  ].join('\n');
}
