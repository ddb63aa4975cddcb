/** The rows of a CSV file (RFC 4180), each with its line. */
import { type CsvError, type Info, parse } from 'csv-parse/sync';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Input } from './open-input.js';

/** One row that is not empty. */
export interface CsvRow {
  readonly cells: readonly string[];
  /** Line on which it begins. */
  readonly line: number;
}

/** A row as the library gives it. */
interface Parsed {
  readonly record: readonly string[];
  readonly raw: string;
  readonly info: Info;
}

const MAX_ROW_BYTES = 16 * 1_024 * 1_024;
const DELIMITERS = [',', ';', '\t'] as const;
/** What Excel writes above a table, so that it reads it the same everywhere. */
const SEPARATOR_LINE = /^sep=(.)\r?$/;

/** How the fields of a table are apart: as its first line says or shows. */
function delimiterOf(firstLine: string): { readonly delimiter: string; readonly isStated: boolean } {
  const stated = SEPARATOR_LINE.exec(firstLine)?.[1];
  if (stated !== undefined) return { delimiter: stated, isStated: true };
  const unquoted = firstLine.replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string): number => unquoted.split(delimiter).length;
  const [most] = [...DELIMITERS].sort((left, right) => count(right) - count(left));
  return { delimiter: most ?? ',', isStated: false };
}

/**
 * All rows, the header as the first of them; rows without any content are left out.
 * @throws `ERR_INPUT_INVALID` where quotes are such that it cannot be told where a cell ends.
 */
export function csvRows({ name, text }: Input): readonly CsvRow[] {
  const { delimiter, isStated } = delimiterOf(text.trimStart().split(/[\r\n]/, 1)[0] ?? '');
  try {
    const rows: readonly Parsed[] = parse(text, {
      delimiter,
      ...(isStated ? { from_line: 2 } : {}),
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_ROW_BYTES,
      raw: true,
      info: true,
    }) as never;
    return rows
      .filter(({ record }) => record.some((cell) => cell.trim() !== ''))
      .map(({ record, raw, info }) => rowOf(record, raw, info.lines));
  } catch (error) {
    throw unreadable(name, error);
  }
}

function rowOf(cells: readonly string[], raw: string, lastLine: number): CsvRow {
  const text = raw.replace(/^[\r\n]+/, '').replace(/[\r\n]+$/, '');
  return { cells, line: lastLine - (text.match(LINE_END)?.length ?? 0) };
}

const LINE_END = /\r\n|\n|\r/g;

/** What the library complains of, with the line on which it noticed. */
function unreadable(name: string, error: unknown): FlywheelError {
  const { code = '', lines } = error as CsvError & { readonly lines?: number };
  const reason = REASONS.find(([part]) => code.includes(part))?.[1];
  if (reason === undefined) throw error;
  const where = lines === undefined ? '' : ` (line ${lines})`;
  const listed = [{ ...(lines === undefined ? {} : { line: lines }), message: reason }];
  return new FlywheelError('ERR_INPUT_INVALID', `${name}: ${reason}${where}.`, {
    problems: { file: name, count: 1, listed },
    hint: 'Put a cell that contains quotes into quotes, and double each quote in it.',
    cause: error,
  });
}

const REASONS = [
  ['CLOSING_QUOTE', 'text follows the closing quote of a cell'],
  ['OPENING_QUOTE', 'a quote inside a cell that is not quoted'],
  ['QUOTE_NOT_CLOSED', 'a quoted cell is not closed'],
  ['MAX_RECORD_SIZE', `a row has more than ${MAX_ROW_BYTES} bytes`],
] as const;
