/** How far the store has come and what it knows of its ledger: one row, written with every transaction. */
import { sql } from 'kysely';
import { FlywheelError } from '../errors/flywheel-error.js';
import { executeOnce, type Session } from './session.js';
import type { StoreProgress } from './store.js';

/** Counts a write. @param ledgerMark - of the newest block that is known now. */
export async function countWrite(session: Session, ledgerMark: string): Promise<void> {
  const parameters = [1, ledgerMark, ledgerMark, 1];
  await executeOnce(session, 'count a write', parameters, () =>
    session.db
      .updateTable('progress')
      .set((column) => ({
        revision: column('revision', '+', 1),
        ledger_mark: sql<string>`case when ledger_mark < ${ledgerMark} then ${ledgerMark} else ledger_mark end`,
      }))
      .where('id', '=', 1)
      .compile(),
  );
}

export async function readProgress({ db }: Session): Promise<StoreProgress> {
  const row = await db.selectFrom('progress').selectAll().executeTakeFirstOrThrow();
  return { genesis: row.genesis, revision: Number(row.revision), ledgerMark: row.ledger_mark };
}

/** @throws `ERR_INTERNAL` when the store is bound to another ledger. */
export async function bindGenesis({ db }: Session, genesis: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('progress')
    .set({ genesis })
    .where('id', '=', 1)
    .where((column) => column.or([column('genesis', 'is', null), column('genesis', '=', genesis)]))
    .executeTakeFirst();
  if (numUpdatedRows === 1n) return;
  throw new FlywheelError('ERR_INTERNAL', 'The store is bound to another ledger.');
}

/** No database is on this line: the source of a copy may have gone on. */
const COPIED = 'copy';

/** The store has come as far as another had, and is of the same ledger. */
export async function restoreProgress({ db }: Session, progress: StoreProgress): Promise<void> {
  const { genesis, revision, ledgerMark } = progress;
  await db
    .updateTable('progress')
    .set({ genesis, revision, ledger_mark: ledgerMark, lineage: COPIED, held_until: null })
    .where('id', '=', 1)
    .execute();
}
