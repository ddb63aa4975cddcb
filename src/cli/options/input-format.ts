/** The options that say how an input file is written. */
import { Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';

/** How elements stand in a file. */
export type InputFormat = 'json' | 'ndjson' | 'csv';

const FORMAT = [
  '--format <format>',
  'how the file is written (default: CSV if named .csv or .tsv, else JSON)',
] as const;

/** Of burns. */
export const FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'ndjson', 'csv'] as const);

/** Of pipelines. */
export const TABLE_FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'csv'] as const);

export const COLUMN_OPTION = new Option(
  '--column <field=name>',
  'column of a CSV file that holds a field, such as amount=Tokens (repeatable)',
).argParser(addColumn);

/** Names of columns by their fields. */
export type Columns = ReadonlyMap<string, string>;

function addColumn(text: string, before: Columns | undefined): Columns {
  const at = text.indexOf('=');
  const field = text.slice(0, at);
  const name = text.slice(at + 1);
  if (at < 1 || name === '')
    throw new FlywheelError('ERR_USAGE', `--column takes field=name, got ${JSON.stringify(text)}.`, {
      hint: 'Such as --column amount=Tokens; `flywheel help files` lists the fields.',
    });
  if (before?.has(field) === true)
    throw new FlywheelError('ERR_USAGE', `--column gives ${JSON.stringify(field)} twice.`);
  return new Map([...(before ?? []), [field, name]]);
}
