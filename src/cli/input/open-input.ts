/** A file of elements, or standard input, and how it is written. */
import { extname } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CliContext } from '../context.js';
import type { Columns, InputFormat } from '../options/input-format.js';
import { type NamedText, readInputText } from './read-input.js';

/** How an input is said to be written. */
export interface InputTerms {
  readonly format?: InputFormat;
  readonly column?: Columns;
}

/** The text of an input, not empty. */
export interface Input extends NamedText {
  readonly format: InputFormat;
  readonly columns: Columns;
}

const TABLES: ReadonlySet<string> = new Set(['.csv', '.tsv']);

/**
 * Reads an input of elements.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason, also for one that is empty.
 */
export async function openInput(
  context: Pick<CliContext, 'io' | 'cwd'>,
  file: string,
  terms: InputTerms = {},
): Promise<Input> {
  const { name, text } = await readInputText(context, file);
  const first = text.trimStart().charAt(0);
  const format = terms.format ?? formatOf(file, first);
  if (terms.format === undefined && format === 'ndjson' && !/[[{"]/.test(first))
    throw new FlywheelError('ERR_INPUT_INVALID', `${name}: expected JSON or NDJSON (line 1, column 1).`, {
      problems: {
        file: name,
        count: 1,
        listed: [{ line: 1, column: 1, message: 'expected JSON or NDJSON' }],
      },
      hint: 'If it is CSV, add --format csv.',
    });
  const columns = terms.column ?? new Map<string, string>();
  if (format !== 'csv' && columns.size > 0)
    throw new FlywheelError('ERR_USAGE', `--column is for CSV, and ${name} is read as ${format}.`, {
      hint: 'Add --format csv.',
    });
  return { name, text, format, columns };
}

const formatOf = (file: string, firstCharacter: string): InputFormat =>
  TABLES.has(extname(file).toLowerCase()) ? 'csv' : firstCharacter === '[' ? 'json' : 'ndjson';

/** Text that was read already. */
export const textInput = ({ name, text }: NamedText): Input => ({
  ...{ name, text, columns: new Map<string, string>() },
  format: formatOf(name, text.trimStart().charAt(0)),
});
