/** How far the store has come and what it knows of its ledger: one row, written with every transaction. */
import { sql } from 'kysely';
import { FlywheelError, invariant } from '../errors/flywheel-error.js';
import { executeOnce, type Session } from './session.js';
import type { StoreProgress } from './store.js';

/** Counts a write. @param ledgerHeight - the highest block that is known now. @returns the new revision. */
export async function countWrite(session: Session, ledgerHeight: number): Promise<number> {
  const parameters = [1, ledgerHeight, ledgerHeight, 1];
  const { rows } = await executeOnce(session, 'count a write', parameters, () =>
    session.db
      .updateTable('progress')
      .set((column) => ({
        revision: column('revision', '+', 1),
        ledger_height: sql<number>`case when ledger_height < ${ledgerHeight} then ${ledgerHeight} else ledger_height end`,
      }))
      .where('id', '=', 1)
      .returning('revision')
      .compile(),
  );
  invariant(rows[0] !== undefined, 'A store has its progress.');
  return Number(rows[0].revision);
}

export async function readProgress({ db }: Session): Promise<StoreProgress> {
  const row = await db.selectFrom('progress').selectAll().executeTakeFirstOrThrow();
  return { genesis: row.genesis, revision: Number(row.revision), ledgerHeight: Number(row.ledger_height) };
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

export async function raiseRevision({ db }: Session, revision: number): Promise<void> {
  await db
    .updateTable('progress')
    .set({ revision })
    .where('id', '=', 1)
    .where('revision', '<', revision)
    .execute();
}

/** No database is on this line: the source of a copy may have gone on. */
const COPIED = 'copy';

/** The store has come as far as another had, and is of the same ledger. */
export async function restoreProgress({ db }: Session, progress: StoreProgress): Promise<void> {
  const { genesis, revision, ledgerHeight } = progress;
  await db
    .updateTable('progress')
    .set({ genesis, revision, ledger_height: ledgerHeight, lineage: COPIED, held_until: null })
    .where('id', '=', 1)
    .execute();
}
