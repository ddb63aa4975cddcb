/** Burns: the intent of each, then its outcome; written in few statements however many there are. */
import { type Selectable, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { UtcDay } from '../../values/time.js';
import { toU64Text } from '../column-values.js';
import type { BurnIntent, BurnOutcome, BurnRecord } from '../records.js';
import { executeInPieces, expectAffected, insertRows, type Session, takeNumbers } from '../session.js';
import type { BurnRepository } from '../store.js';
import type { BurnTable } from '../tables.js';

const toRecord = (row: Selectable<BurnTable>): BurnRecord => ({
  sequence: Number(row.sequence),
  requestId: row.request_id,
  index: row.position,
  tokenId: row.token_id,
  keyId: row.key_id,
  proofType: row.proof_type,
  proofHash: row.proof_hash as Sha256,
  amount: BigInt(row.amount),
  persistOnchain: row.persist_onchain === 1,
  day: row.day as UtcDay,
  status: row.status,
  signature: row.signature,
  transaction: row.signed_transaction,
  lastValidBlockHeight: BigInt(row.last_valid_block_height),
  errorCode: row.error_code,
  errorMessage: row.error_message,
  dateCreated: row.date_created,
  dateSettled: row.date_settled,
});

const toRow = (burn: BurnIntent) => ({
  sequence: burn.sequence,
  request_id: burn.requestId,
  position: burn.index,
  token_id: burn.tokenId,
  key_id: burn.keyId,
  proof_type: burn.proofType,
  proof_hash: burn.proofHash,
  amount: toU64Text(burn.amount),
  persist_onchain: burn.persistOnchain ? 1 : 0,
  day: burn.day,
  signature: burn.signature,
  signed_transaction: burn.transaction,
  last_valid_block_height: toU64Text(burn.lastValidBlockHeight),
  date_created: burn.dateCreated,
});

// A literal, because a partial index serves only a condition that is written out.
const PENDING = sql.lit('PENDING' as const);

const outcomeParameters = (outcome: BurnOutcome): readonly unknown[] => [
  outcome.sequence,
  outcome.status,
  outcome.errorCode,
  outcome.errorMessage,
  outcome.dateSettled,
];

/** One statement for many outcomes: each burn is found by its number, and changes only while it is pending. */
const settleStatement = (outcomes: readonly BurnOutcome[]) => {
  const rows = outcomes.map(
    (outcome) => sql`(cast(${outcome.sequence} as bigint), ${outcome.status}, ${outcome.errorCode},
      ${outcome.errorMessage}, ${outcome.dateSettled})`,
  );
  return sql`with settled (sequence, status, error_code, error_message, date_settled) as (values ${sql.join(rows)})
    update burns set status = settled.status, error_code = settled.error_code,
      error_message = settled.error_message, date_settled = settled.date_settled
    from settled where burns.sequence = settled.sequence and burns.status = ${PENDING}`;
};

type Writes = Pick<BurnRepository, 'reserveSequences' | 'insertMany' | 'resign' | 'settleMany'>;
type Reads = Pick<BurnRepository, 'ofRequest'>;

const writes = (session: Session): Writes => ({
  reserveSequences: (count) => takeNumbers(session, 'burn', count),

  insertMany: (burns) =>
    insertRows(session, 'burns', burns.map(toRow), (rows) =>
      session.db.insertInto('burns').values(rows).compile(),
    ),

  async resign(sequence, expired, signed) {
    const { numUpdatedRows } = await session.db
      .updateTable('burns')
      .set({
        signature: signed.signature,
        signed_transaction: signed.transaction,
        last_valid_block_height: toU64Text(signed.lastValidBlockHeight),
      })
      .where('sequence', '=', sequence)
      .where('status', '=', PENDING)
      .where('signature', '=', expired)
      .executeTakeFirst();
    if (numUpdatedRows === 1n) return;
    throw new FlywheelError('ERR_DUPLICATE_IDEMPOTENCY_KEY', `Another engine carries burn ${sequence} on.`, {
      retryAfterSeconds: 1,
    });
  },

  async settleMany(outcomes) {
    const affected = await executeInPieces(session, {
      name: 'settle burns',
      rows: outcomes,
      parameters: outcomeParameters,
      build: (piece) => settleStatement(piece).compile(session.db),
    });
    expectAffected(affected, outcomes.length, 'Not every burn to settle is pending; nothing was settled.');
  },
});

const reads = ({ db }: Session): Reads => ({
  async ofRequest(requestId, from, to) {
    let query = db.selectFrom('burns').selectAll().where('request_id', '=', requestId).orderBy('position');
    if (from !== undefined) query = query.where('position', '>=', from);
    if (to !== undefined) query = query.where('position', '<', to);
    return (await query.execute()).map(toRecord);
  },
});

export const burnRepository = (session: Session): BurnRepository => ({
  ...writes(session),
  ...reads(session),
});
