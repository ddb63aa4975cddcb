/** The options that say how an input file is written. */
import { Option } from '@commander-js/extra-typings';
import { FlywheelError } from '../../errors/flywheel-error.js';

/** How elements stand in a file. */
export type InputFormat = 'json' | 'ndjson' | 'csv';

const FORMAT = [
  '--format <format>',
  'format of the file (default: csv for .csv and .tsv, else json)',
] as const;

/** Of burns. */
export const FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'ndjson', 'csv'] as const);

/** Of pipelines. */
export const TABLE_FORMAT_OPTION = new Option(...FORMAT).choices(['json', 'csv'] as const);

export const COLUMN_OPTION = new Option(
  '--column <field=name>',
  'CSV column of a field, such as amount=Tokens (repeatable)',
).argParser(addColumn);

/** Names of columns by their fields. */
export type Columns = ReadonlyMap<string, string>;

function addColumn(text: string, before: Columns | undefined): Columns {
  const at = text.indexOf('=');
  const field = text.slice(0, at);
  const name = text.slice(at + 1);
  if (at < 1 || name === '')
    throw new FlywheelError('ERR_USAGE', `--column: expected field=name, got ${JSON.stringify(text)}.`, {
      hint: 'Example: --column amount=Tokens. `flywheel help files` lists the fields.',
    });
  if (before?.has(field) === true)
    throw new FlywheelError('ERR_USAGE', `--column names ${JSON.stringify(field)} twice.`);
  return new Map([...(before ?? []), [field, name]]);
}
