/** The part of a command's help that commander does not write: what it prints, how it fails, lines to run. */
import { ERRORS } from '../../errors/codes.js';
import type { CommandSpec } from '../command.js';

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

/** Output, errors and examples of a command as text. */
export function helpSections(spec: CommandSpec): string {
  const errors = spec.errors.map((code) => `${code.padEnd(34)} exit ${ERRORS[code].exit}`);
  return [
    'Output:',
    ...indent(spec.output),
    ...(errors.length === 0 ? [] : ['', 'Errors:', ...indent(errors)]),
    '',
    'Examples:',
    ...indent(spec.examples.map((line) => `$ ${line}`)),
  ].join('\n');
}
