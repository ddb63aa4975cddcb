/** Fills an empty store with an export, in one transaction: all of it, found again as it was written, or nothing. */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { STORE_VERSION } from '../migrations/index.js';
import type { Store, StoreTransaction } from '../store.js';
import {
  damaged,
  type ExportEnd,
  type ExportHeader,
  FORMAT,
  FORMAT_VERSION,
  LineDigest,
  notAnExport,
  parseLine,
  readRow,
  rowLine,
  type TableDigest,
  tableLine,
} from './format.js';
import type { Cells } from './rows.js';
import { MOVED_TABLES, type MovedTable } from './tables.js';

export interface ImportTerms {
  /** Looks at the header before anything is read further. @throws what refuses it. */
  readonly accept?: (header: ExportHeader) => void;
  /** Looks at what stands in the store, in the transaction that wrote it. @throws what refuses it; then nothing is written. */
  readonly check?: (tx: StoreTransaction) => Promise<void>;
  /** Hears how many rows were read, now and then. */
  readonly onRows?: (read: number, all: number) => void;
}

export interface Imported extends ExportEnd {
  readonly header: ExportHeader;
  /** The store held exactly this before. */
  readonly wasThere: boolean;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Rows of a table that are written, or compared, at once. */
const ROWS_AT_ONCE = 128;

/** Reads an export line by line, in the one order that it can have. */
class ExportReader {
  readonly #lines: AsyncIterator<string>;
  readonly #digest = new LineDigest();
  #number = 0;

  constructor(lines: AsyncIterable<string>) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async #next(expected: string): Promise<string> {
    const { done, value } = await this.#lines.next();
    if (done === true) throw notAnExport(`is cut off before ${expected}`);
    this.#number += 1;
    return value;
  }

  async header(): Promise<ExportHeader> {
    const line = await this.#next('its first line');
    this.#digest.add(line);
    const header = readHeader(line);
    return header;
  }

  /** @returns digest of the rows */
  async table(
    table: MovedTable,
    count: number,
    take: (rows: readonly Cells[]) => Promise<void>,
  ): Promise<TableDigest> {
    const first = await this.#next(`the table ${table.name}`);
    if (first !== tableLine(table)) throw damaged(this.#number, `does not begin the table ${table.name}`);
    this.#digest.add(first);
    const digest = new LineDigest();
    let rows: Cells[] = [];
    for (let index = 0; index < count; index += 1) {
      const line = await this.#next(`row ${index + 1} of ${table.name}`);
      this.#digest.add(line);
      digest.add(line);
      rows.push(readRow(table, line, this.#number));
      if (rows.length < Math.min(ROWS_AT_ONCE, table.rowsPerPage)) continue;
      await take(rows);
      rows = [];
    }
    if (rows.length > 0) await take(rows);
    return { name: table.name, rows: count, sha256: digest.end() };
  }

  /** Holds what was read to the last line. */
  async end(tables: readonly TableDigest[]): Promise<ExportEnd> {
    const end: ExportEnd = { tables, sha256: this.#digest.end() };
    const line = await this.#next('its last line');
    if (line !== JSON.stringify(end))
      throw damaged(this.#number, 'does not say what the lines before it come to');
    const { done } = await this.#lines.next();
    if (done !== true) throw damaged(this.#number + 1, 'comes after the end');
    return end;
  }
}

/** @throws `ERR_INPUT_INVALID` for a file that is none, or of another version. */
function readHeader(line: string): ExportHeader {
  const header = parseLine(line, 1) as Partial<ExportHeader> | null;
  if (typeof header !== 'object' || header === null || header.format !== FORMAT)
    throw notAnExport('is no export of flywheel');
  const { formatVersion, storeVersion, genesis, revision, ledgerHeight, tables } = header;
  if (formatVersion !== FORMAT_VERSION || storeVersion !== STORE_VERSION) {
    const isNewer = Number(formatVersion) > FORMAT_VERSION || Number(storeVersion) > STORE_VERSION;
    throw notAnExport(
      `has format ${formatVersion} and store version ${storeVersion}; this build knows format ${FORMAT_VERSION} and version ${STORE_VERSION}`,
      {
        hint: isNewer
          ? 'Import it with the version of flywheel that wrote it, or a newer one.'
          : 'Import it with the version of flywheel that wrote it; a newer one then opens that store.',
      },
    );
  }
  const isWhole =
    (genesis === null || typeof genesis === 'string') &&
    isCount(revision) &&
    isCount(ledgerHeight) &&
    Array.isArray(tables) &&
    tables.length === MOVED_TABLES.length &&
    MOVED_TABLES.every(({ name }, index) => tables[index]?.name === name && isCount(tables[index]?.rows));
  if (!isWhole) throw damaged(1, 'is no whole header');
  return header as ExportHeader;
}

/** Digest of the first so many rows as they stand in the store: more may have come behind those that were moved. */
async function digestOf(tx: StoreTransaction, table: MovedTable, count: number): Promise<TableDigest> {
  const digest = new LineDigest();
  let rows = 0;
  for await (const page of tx.rows.pages(table)) {
    for (const cells of page) {
      if (rows === count && table.ofFresh === 'kept') return { name: table.name, rows, sha256: digest.end() };
      digest.add(rowLine(cells));
      rows += 1;
    }
  }
  return { name: table.name, rows, sha256: digest.end() };
}

const differing = async (
  tx: StoreTransaction,
  tables: readonly TableDigest[],
  except: readonly MovedTable['ofFresh'][] = [],
): Promise<TableDigest | undefined> => {
  for (const [index, expected] of tables.entries()) {
    const table = MOVED_TABLES[index];
    if (table === undefined || except.includes(table.ofFresh)) continue;
    const found = await digestOf(tx, table, expected.rows);
    if (found.rows !== expected.rows || found.sha256 !== expected.sha256) return expected;
  }
  return undefined;
};

async function isFresh(tx: StoreTransaction): Promise<boolean> {
  for (const table of MOVED_TABLES)
    if (table.ofFresh === 'empty' && !(await tx.rows.isEmpty(table))) return false;
  return true;
}

const storeNotEmpty = () =>
  notAnExport('cannot go into this store, which holds something else', {
    hint: 'Import into a database, or a data directory, in which nothing is registered yet.',
  });

/** What a fresh store holds and keeps, in the order in which it came. */
async function takeKept(tx: StoreTransaction): Promise<ReadonlyMap<MovedTable, readonly Cells[]>> {
  const kept = new Map<MovedTable, readonly Cells[]>();
  for (const table of MOVED_TABLES) {
    if (table.ofFresh === 'empty') continue;
    const rows: Cells[] = [];
    if (table.ofFresh === 'kept') for await (const page of tx.rows.pages(table)) rows.push(...page);
    kept.set(table, rows);
    await tx.rows.clear(table);
  }
  return kept;
}

/** Writes everything, then reads it back. */
async function fill(
  tx: StoreTransaction,
  reader: ExportReader,
  header: ExportHeader,
  { check = async () => undefined, onRows = () => undefined }: ImportTerms,
): Promise<ExportEnd> {
  const bringBack = await tx.rows.suspendTriggers();
  const kept = await takeKept(tx);
  const all = header.tables.reduce((sum, { rows }) => sum + rows, 0);
  let read = 0;
  const tables: TableDigest[] = [];
  for (const [index, table] of MOVED_TABLES.entries()) {
    const write = async (rows: readonly Cells[]): Promise<void> => {
      await insert(tx, table, rows);
      read += rows.length;
      onRows(read, all);
    };
    tables.push(await reader.table(table, header.tables[index]?.rows ?? 0, write));
  }
  const end = await reader.end(tables);
  await tx.rows.restoreProgress(header);
  const wrong = await differing(tx, end.tables);
  if (wrong !== undefined)
    throw notAnExport(`was not found again as it is in ${wrong.name} after it was written`);
  for (const rows of kept.values()) for (const cells of rows) await tx.rows.appendAudit(cells);
  await bringBack();
  // What triggers hold rows to was not asked while they were written.
  if ((await tx.rows.countMixed()) > 0) throw notAnExport('holds rows that name what is of another project');
  await check(tx);
  return end;
}

async function orRefused<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!isFlywheelError(cause, 'ERR_INTERNAL')) throw cause;
    throw notAnExport(`holds what the store refuses in ${what}`, { cause });
  }
}

const insert = (tx: StoreTransaction, table: MovedTable, rows: readonly Cells[]): Promise<void> =>
  orRefused(table.name, () => tx.rows.insert(table, rows));

/** Reads everything, and holds it to what stands there. */
async function compare(tx: StoreTransaction, reader: ExportReader, header: ExportHeader): Promise<ExportEnd> {
  const tables: TableDigest[] = [];
  for (const [index, table] of MOVED_TABLES.entries())
    tables.push(await reader.table(table, header.tables[index]?.rows ?? 0, async () => undefined));
  const end = await reader.end(tables);
  const { genesis } = await tx.rows.progress();
  // That it was imported has been written down since, under a number.
  if (genesis !== header.genesis || (await differing(tx, end.tables, ['replaced'])) !== undefined)
    throw storeNotEmpty();
  return end;
}

/**
 * Fills the store. One that holds exactly this already is left as it is, so that an import whose answer was lost can be repeated.
 *
 * @param lines - as {@link linesOf} gives them.
 * @throws `ERR_INPUT_INVALID` for a file that is damaged, cut off, or of another version, and for a store that holds something
 * else; `ERR_STORE_UNAVAILABLE`. Nothing was written then.
 */
export async function importStore(
  store: Pick<Store, 'transaction'>,
  lines: AsyncIterable<string>,
  terms: ImportTerms = {},
): Promise<Imported> {
  const reader = new ExportReader(lines);
  const header = await reader.header();
  terms.accept?.(header);
  // What rows refer to is looked for when all of them are there.
  return orRefused('what its rows refer to', () =>
    store.transaction(async (tx) => {
      await tx.rows.bePatient();
      if (await isFresh(tx)) return { ...(await fill(tx, reader, header, terms)), header, wasThere: false };
      return { ...(await compare(tx, reader, header)), header, wasThere: true };
    }),
  );
}
