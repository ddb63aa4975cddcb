/**
 * The lines of an export: a header, of each table its name and its rows, and what all of it comes to.
 *
 * Equal stores give equal lines, so that digests say whether two stores hold the same.
 */
import { createHash, type Hash } from 'node:crypto';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { StoreProgress } from '../store.js';
import type { Cell, Cells } from './rows.js';
import type { ColumnKind, MovedTable } from './tables.js';

export const FORMAT = 'flywheel-export';
export const FORMAT_VERSION = 1;

/** Characters of one line: a batch of many pipelines is one. */
const MAX_LINE = 256 * 1_024 * 1_024;

export interface TableCount {
  readonly name: string;
  readonly rows: number;
}

export interface ExportHeader extends StoreProgress {
  readonly format: typeof FORMAT;
  readonly formatVersion: number;
  /** Version of the schema whose columns the rows have. */
  readonly storeVersion: number;
  readonly tables: readonly TableCount[];
}

export interface TableDigest extends TableCount {
  /** Over its rows. */
  readonly sha256: Sha256;
}

/** What an export comes to; its last line. */
export interface ExportEnd {
  readonly tables: readonly TableDigest[];
  /** Over all lines before the last. */
  readonly sha256: Sha256;
}

export const notAnExport = (what: string, more: { hint?: string; cause?: unknown } = {}): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `The export ${what}; nothing was imported.`, more);

export const damaged = (line: number, what: string, cause?: unknown): FlywheelError =>
  notAnExport(`is damaged: line ${line} ${what}`, {
    hint: 'Take another copy of the file, or export again.',
    cause,
  });

/** Digest of text that comes in parts. */
export class LineDigest {
  readonly #hash: Hash = createHash('sha256');

  add(line: string): void {
    this.#hash.update(line).update('\n');
  }

  end(): Sha256 {
    return this.#hash.digest('hex') as Sha256;
  }
}

const toJson = (cell: Cell): string | number | null =>
  cell instanceof Uint8Array
    ? Buffer.from(cell.buffer, cell.byteOffset, cell.length).toString('base64')
    : cell;

export const rowLine = (cells: Cells): string => JSON.stringify(cells.map(toJson));

export const tableLine = ({ name, columns }: MovedTable): string =>
  JSON.stringify({ table: name, columns: Object.keys(columns) });

function toCell(kind: ColumnKind, value: unknown): Cell | undefined {
  if (value === null) return null;
  if (kind === 'integer') return Number.isSafeInteger(value) ? (value as number) : undefined;
  if (typeof value !== 'string') return undefined;
  if (kind === 'text') return value;
  const bytes = Buffer.from(value, 'base64');
  return bytes.toString('base64') === value ? new Uint8Array(bytes) : undefined;
}

/** @throws `ERR_INPUT_INVALID` for what is no row of the table. */
export function readRow(table: MovedTable, line: string, number: number): Cells {
  const value = parseLine(line, number);
  const columns = Object.entries(table.columns);
  if (!Array.isArray(value) || value.length !== columns.length)
    throw damaged(number, `is no row of ${table.name}`);
  return columns.map(([column, kind], index) => {
    const cell = toCell(kind, value[index]);
    if (cell === undefined) throw damaged(number, `has no ${kind} in ${table.name}.${column}`);
    return cell;
  });
}

/** @throws `ERR_INPUT_INVALID` */
export function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw damaged(number, 'is not JSON', cause);
  }
}

/**
 * The lines of a text that comes in pieces; each has an end.
 * @throws `ERR_INPUT_INVALID` for a line without an end, or beyond all bounds.
 */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest: string[] = [];
  let length = 0;
  let number = 1;
  for await (const piece of pieces) {
    let start = 0;
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', start)) {
      yield rest.join('') + piece.slice(start, end);
      rest = [];
      length = 0;
      number += 1;
      start = end + 1;
    }
    rest.push(piece.slice(start));
    length += piece.length - start;
    if (length > MAX_LINE) throw damaged(number, `has more than ${MAX_LINE} characters`);
  }
  if (length > 0) throw notAnExport(`is cut off in line ${number}`);
}
