/** Copies a file's store into an empty database in one transaction and compares the result: all rows are copied, or none. */
import { createHash } from 'node:crypto';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import type { Sha256 } from '../values/digest.js';
import { toCell } from './columns.js';
import { sqlName } from './ddl.js';
import type { AnyRow } from './repositories/rows.js';
import { describe, TABLE_NAMES, type TableName } from './schema.js';
import type { Store, StoreTransaction } from './store.js';

interface CopyTerms {
  /** Project name; a data directory has none. @default the source's name */
  readonly name?: string;
  /** Checks the target inside the transaction that wrote it. An exception rolls the copy back. */
  readonly check?: (tx: StoreTransaction) => Promise<void>;
}

const COPIED = TABLE_NAMES.filter((name) => name !== 'progress');

const refuse = (what: string, more: { hint?: string; cause?: unknown } = {}): FlywheelError =>
  new FlywheelError('ERR_INPUT_INVALID', `The store ${what}; nothing was copied.`, more);

/** Leases are released in the copy: their holders work on the other store. */
function asWritten(name: TableName, row: AnyRow, project: Pick<CopyTerms, 'name'>): AnyRow {
  if (name === 'projects') return { ...row, ...project };
  if (name === 'batches' || name === 'requests') return { ...row, holder: null, leaseUntilMs: 0 };
  return row;
}

function lineOf(name: TableName, row: AnyRow): string {
  const cells = Object.keys(describe(name).columns).map((column) => {
    const cell = toCell(row[column]);
    return cell instanceof Uint8Array ? Buffer.from(cell).toString('base64') : cell;
  });
  return `${JSON.stringify(cells)}\n`;
}

type Pages = AsyncGenerator<readonly AnyRow[], void>;

async function* rowsOf(tx: StoreTransaction, name: TableName, project: Pick<CopyTerms, 'name'> = {}): Pages {
  // Without the target's audit entry of the copy itself.
  for await (const page of tx.rows.pages(name))
    yield page
      .filter((row) => name !== 'auditLog' || row['action'] !== 'copy')
      .map((row) => asWritten(name, row, project));
}

/** Both sides are read in step, page by page: PostgreSQL ends a transaction that is idle while the other side reads a long table. */
async function digestsOf(name: TableName, source: Pages, target: Pages) {
  const sides = [source, target].map((pages) => ({ pages, hash: createHash('sha256'), rows: 0 }));
  for (let isOver = false; !isOver; ) {
    isOver = true;
    for (const side of sides) {
      const page = await side.pages.next();
      if (page.done === true) continue;
      isOver = false;
      for (const row of page.value) side.hash.update(lineOf(name, row));
      side.rows += page.value.length;
    }
  }
  return sides.map(({ hash, rows }) => ({ name: sqlName(name), rows, sha256: hash.digest('hex') as Sha256 }));
}

async function isFresh(target: StoreTransaction): Promise<boolean> {
  for (const name of COPIED) if (!(await target.rows.isEmpty(name))) return false;
  return true;
}

async function copyInto(
  source: StoreTransaction,
  target: StoreTransaction,
  { check = async () => undefined, ...project }: CopyTerms,
) {
  const wasThere = !(await isFresh(target));
  const differs = (what: string): FlywheelError =>
    wasThere
      ? refuse('cannot be written over other rows', { hint: 'Use a database without projects.' })
      : refuse(`differs in ${what} after it was written`);
  const { genesis } = await source.lineages.progress();
  const tables: Awaited<ReturnType<typeof digestsOf>> = [];
  for (const name of COPIED) {
    for await (const page of wasThere ? [] : rowsOf(source, name, project))
      await target.rows.insert(name, page).catch((cause: unknown) => {
        if (!isFlywheelError(cause, 'ERR_INTERNAL')) throw cause;
        throw refuse(`holds what the other one refuses in ${sqlName(name)}`, { cause });
      });
    const [own, there] = await digestsOf(name, rowsOf(source, name, project), rowsOf(target, name));
    if (own === undefined || there?.sha256 !== own.sha256) throw differs(sqlName(name));
    tables.push(own);
  }
  if (!wasThere) await target.rows.takeOver(genesis);
  if ((await target.lineages.progress()).genesis !== genesis) throw differs('progress');
  if (!wasThere) await check(target);
  return { tables, wasThere };
}

/**
 * Copies one snapshot of a store, and compares each table with it. A target that already holds exactly these rows is left unchanged, so a
 * copy can be repeated after a lost answer.
 * @throws `ERR_INPUT_INVALID` for a target with other rows, `ERR_STORE_UNAVAILABLE`; nothing was written then
 */
export const copyStore = (
  from: Pick<Store, 'read'>,
  to: Pick<Store, 'transaction'>,
  terms: CopyTerms = {},
): ReturnType<typeof copyInto> =>
  from.read((source) => to.transaction((target) => copyInto(source, target, terms)));
