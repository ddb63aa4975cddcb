/** Landings that are not final yet, and how what a fork has taken back becomes an intent again. */
import { piecesOf } from '../../values/pieces.js';
import type { NewLanding, WatchedLanding } from '../records.js';
import { expectAffected, insertRows, type Session } from '../session.js';
import type { LandingRepository } from '../unfinished-repository.js';
import { dropTransactions } from './burns.js';

async function burns({ db }: Session): Promise<readonly WatchedLanding[]> {
  const rows = await db
    .selectFrom('landings')
    .innerJoin('burns', 'burns.sequence', 'landings.burn_sequence')
    .select(['burns.sequence', 'burns.request_id', 'burns.token_id', 'burns.signature', 'landings.slot'])
    .orderBy('burns.sequence')
    .execute();
  return rows.map(({ sequence, request_id, token_id, signature, slot }) => ({
    kind: 'burn',
    sequence: Number(sequence),
    requestId: request_id,
    tokenId: token_id,
    signatures: [signature],
    slot: BigInt(slot),
  }));
}

async function bundles({ db }: Session): Promise<readonly WatchedLanding[]> {
  const rows = await db
    .selectFrom('landings')
    .innerJoin('bundles', 'bundles.id', 'landings.bundle_id')
    .innerJoin('batches', 'batches.id', 'bundles.batch_id')
    .innerJoin('bundle_transactions', 'bundle_transactions.bundle_id', 'bundles.id')
    .select([
      'bundles.id',
      'bundles.batch_id',
      'batches.token_id',
      'bundles.phase',
      'bundles.first_transaction',
    ])
    .select([
      'bundle_transactions.signature',
      'landings.slot',
      'landings.fee_lamports',
      'landings.date_landed',
    ])
    .orderBy('bundles.sequence')
    .orderBy('bundle_transactions.position')
    .execute();
  const found = new Map<string, Extract<WatchedLanding, { kind: 'bundle' }>>();
  for (const row of rows) {
    const known = found.get(row.id);
    found.set(row.id, {
      kind: 'bundle',
      bundleId: row.id,
      batchId: row.batch_id,
      tokenId: row.token_id,
      phase: row.phase,
      first: row.first_transaction,
      signatures: [...(known?.signatures ?? []), row.signature],
      slot: BigInt(row.slot),
      feeLamports: BigInt(row.fee_lamports),
      dateLanded: row.date_landed,
    });
  }
  return [...found.values()];
}

const toRow = (landing: NewLanding) => ({
  burn_sequence: 'sequence' in landing ? landing.sequence : null,
  bundle_id: 'bundleId' in landing ? landing.bundleId : null,
  slot: Number(landing.slot),
  date_landed: landing.dateLanded,
  fee_lamports: landing.feeLamports.toString(),
});

async function forget(session: Session, landings: readonly WatchedLanding[]): Promise<void> {
  const { db, locksRows } = session;
  const burned = landings.flatMap((one) => (one.kind === 'burn' ? [one.sequence] : []));
  for (const piece of piecesOf(burned)) {
    const found = db.selectFrom('landings').select('burn_sequence').where('burn_sequence', 'in', piece);
    const free = locksRows ? found.forUpdate().skipLocked() : found;
    const gone = await db
      .deleteFrom('landings')
      .where('burn_sequence', 'in', free)
      .returning('burn_sequence')
      .execute();
    await dropTransactions(
      session,
      gone.map(({ burn_sequence }) => Number(burn_sequence)),
    );
  }
  const bundled = landings.flatMap((one) => (one.kind === 'bundle' ? [one.bundleId] : []));
  for (const piece of piecesOf(bundled)) {
    const found = db.selectFrom('landings').select('bundle_id').where('bundle_id', 'in', piece);
    const free = locksRows ? found.forUpdate().skipLocked() : found;
    await db.deleteFrom('landings').where('bundle_id', 'in', free).execute();
  }
}

export const landingRepository = (session: Session): LandingRepository => ({
  add: (landings) =>
    insertRows(session, 'landings', landings.map(toRow), (rows) =>
      session.db.insertInto('landings').values(rows).compile(),
    ),

  waiting: async () => [...(await burns(session)), ...(await bundles(session))],

  forget: (landings) => forget(session, landings),

  async remove(landing) {
    const { db } = session;
    const { numDeletedRows } = await (landing.kind === 'burn'
      ? db.deleteFrom('landings').where('burn_sequence', '=', landing.sequence)
      : db.deleteFrom('landings').where('bundle_id', '=', landing.bundleId)
    ).executeTakeFirst();
    return numDeletedRows === 1n;
  },

  async reopenBurn(sequence) {
    const { db, locksRows } = session;
    // Who finds the landing final meanwhile leaves it, and the bytes with it.
    if (locksRows)
      await db
        .selectFrom('landings')
        .select('burn_sequence')
        .where('burn_sequence', '=', sequence)
        .forUpdate()
        .execute();
    const { numUpdatedRows } = await db
      .updateTable('burns')
      .set({ status: 'PENDING', date_settled: null, fee_lamports: null })
      .where('sequence', '=', sequence)
      .where('status', '=', 'SUCCESS')
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no burn ${sequence} that has landed.`);
  },

  async reopenBundle(id) {
    const { numUpdatedRows } = await session.db
      .updateTable('bundles')
      .set({ status: 'PENDING' })
      .where('id', '=', id)
      .where('status', '=', 'LANDED')
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no bundle ${id} that has landed.`);
  },

  async reopenRequest(id) {
    await session.db
      .updateTable('requests')
      .set({ status: 'running', reply: null, lease_until_ms: 0 })
      .where('id', '=', id)
      .execute();
  },

  async reopenBatch(id, to, dateUpdated) {
    const results = to === 'FINALIZED' ? {} : { init_result: null };
    const { numUpdatedRows } = await session.db
      .updateTable('batches')
      .set({ ...results, status: to, execute_result: null, date_updated: dateUpdated })
      .where('id', '=', id)
      .executeTakeFirst();
    expectAffected(numUpdatedRows, 1, `There is no batch ${id} to take up again.`);
  },

  async reopenClosed(id) {
    await session.db.updateTable('batches').set({ date_closed: null }).where('id', '=', id).execute();
  },
});
