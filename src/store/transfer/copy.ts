/** Copies all that a store holds into an empty one, in one transaction: all of it, found again as it was, or nothing. */
import { createHash } from 'node:crypto';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Store, StoreTransaction } from '../store.js';
import type { Cells } from './rows.js';
import { COPIED_TABLES, type CopiedTable } from './tables.js';

/** What a data directory says of its one flywheel beside the store; a database keeps it with the flywheel. */
export interface ProjectPlace {
  /** Of the project. */
  readonly name: string;
  /** JSON. */
  readonly place: string;
}

export interface CopyTerms {
  /** Takes the place of what the source says. @default the source's own */
  readonly place?: ProjectPlace;
  /** Looks at what stands in the target, in the transaction that wrote it. @throws what refuses it; then nothing is written. */
  readonly check?: (tx: StoreTransaction) => Promise<void>;
}

export interface TableDigest {
  readonly name: string;
  readonly rows: number;
  /** Over its rows in the order of their key: equal stores have equal digests. */
  readonly sha256: Sha256;
}

export interface Copied {
  readonly tables: readonly TableDigest[];
  /** The target held exactly this before. */
  readonly wasThere: boolean;
}

const refuse = (what: string, more: { hint?: string; cause?: unknown } = {}): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `The store ${what}; nothing was copied.`, more);

const lineOf = (cells: Cells): string =>
  `${JSON.stringify(cells.map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell).toString('base64') : cell)))}\n`;

/** The rows of a table with the place that they will have, page by page. */
async function* pagesOf(
  tx: StoreTransaction,
  table: CopiedTable,
  place: ProjectPlace | undefined,
): AsyncGenerator<readonly Cells[]> {
  const columns = Object.keys(table.columns);
  const placed = (cells: Cells): Cells =>
    place === undefined || table.name !== 'flywheels'
      ? cells
      : columns.map((column, at) =>
          column === 'name' || column === 'place' ? place[column] : (cells[at] ?? null),
        );
  for await (const page of tx.rows.pages(table)) yield page.map(placed);
}

/** Digest of a table, of which each page is handed on. */
async function digestOf(
  table: CopiedTable,
  pages: AsyncIterable<readonly Cells[]>,
  take: (page: readonly Cells[]) => Promise<void> = async () => undefined,
): Promise<TableDigest> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const page of pages) {
    for (const cells of page) hash.update(lineOf(cells));
    rows += page.length;
    await take(page);
  }
  return { name: table.name, rows, sha256: hash.digest('hex') as Sha256 };
}

/** Rows that came since behind those that were copied do not count. */
async function* first(
  pages: AsyncIterable<readonly Cells[]>,
  count: number,
): AsyncGenerator<readonly Cells[]> {
  let left = count;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= Math.min(left, page.length);
  }
}

/** @returns the first table that stands otherwise in the target. */
async function differing(
  target: StoreTransaction,
  tables: readonly TableDigest[],
  isCompared: (table: CopiedTable) => boolean = () => true,
): Promise<string | undefined> {
  for (const [at, table] of COPIED_TABLES.entries()) {
    const expected = tables[at];
    if (expected === undefined || !isCompared(table)) continue;
    const pages = target.rows.pages(table);
    const found = await digestOf(table, table.ofFresh === 'kept' ? first(pages, expected.rows) : pages);
    if (found.rows !== expected.rows || found.sha256 !== expected.sha256) return table.name;
  }
  return undefined;
}

async function isFresh(target: StoreTransaction): Promise<boolean> {
  for (const table of COPIED_TABLES)
    if (table.ofFresh === 'empty' && !(await target.rows.isEmpty(table))) return false;
  return true;
}

async function orRefused<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!isFlywheelError(cause, 'ERR_INTERNAL')) throw cause;
    throw refuse(`holds what the other one refuses in ${what}`, { cause });
  }
}

/** What a fresh store wrote by itself and keeps, in its order; the rest of it is cleared. */
async function takeKept(target: StoreTransaction): Promise<readonly Cells[]> {
  const kept: Cells[] = [];
  for (const table of COPIED_TABLES) {
    if (table.ofFresh === 'empty') continue;
    if (table.ofFresh === 'kept') for await (const page of target.rows.pages(table)) kept.push(...page);
    await target.rows.clear(table);
  }
  return kept;
}

async function fill(
  source: StoreTransaction,
  target: StoreTransaction,
  { place, check = async () => undefined }: CopyTerms,
): Promise<readonly TableDigest[]> {
  const bringBack = await target.rows.suspendTriggers();
  const kept = await takeKept(target);
  const tables: TableDigest[] = [];
  for (const table of COPIED_TABLES) {
    const insert = (page: readonly Cells[]): Promise<void> =>
      orRefused(table.name, () => target.rows.insert(table, page));
    tables.push(await digestOf(table, pagesOf(source, table, place), insert));
  }
  await target.rows.restoreProgress(await source.rows.progress());
  const wrong = await differing(target, tables);
  if (wrong !== undefined) throw refuse(`was not found again as it is in ${wrong} after it was written`);
  for (const cells of kept) await target.rows.appendAudit(cells);
  await bringBack();
  // What triggers hold rows to was not asked while they were written.
  if ((await target.rows.countMixed()) > 0) throw refuse('holds rows that name what is of another project');
  await check(target);
  return tables;
}

async function compare(
  source: StoreTransaction,
  target: StoreTransaction,
  { place }: CopyTerms,
): Promise<readonly TableDigest[]> {
  const tables: TableDigest[] = [];
  for (const table of COPIED_TABLES) tables.push(await digestOf(table, pagesOf(source, table, place)));
  const [here, there] = [await source.rows.progress(), await target.rows.progress()];
  // That it was copied has been written down since, under a number.
  const wrong = await differing(target, tables, ({ ofFresh }) => ofFresh !== 'replaced');
  if (here.genesis === there.genesis && wrong === undefined) return tables;
  throw refuse('cannot go where something else is', {
    hint: 'Copy into a database in which nothing is registered yet.',
  });
}

/**
 * Copies one state of a store. A target that holds exactly this already is left as it is, so that a copy whose answer was lost
 * can be repeated.
 * @throws `ERR_INPUT_INVALID` for a target that holds something else; `ERR_STORE_UNAVAILABLE`. Nothing was written then.
 */
export const copyStore = (
  from: Pick<Store, 'read'>,
  to: Pick<Store, 'transaction'>,
  terms: CopyTerms = {},
): Promise<Copied> =>
  from.read((source) =>
    // What rows refer to is looked for when all of them are there.
    orRefused('what its rows refer to', () =>
      to.transaction(async (target) => {
        await target.rows.bePatient();
        if (await isFresh(target)) return { tables: await fill(source, target, terms), wasThere: false };
        return { tables: await compare(source, target, terms), wasThere: true };
      }),
    ),
  );
