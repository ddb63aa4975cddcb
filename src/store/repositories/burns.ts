/** Burns: the intent of each, then its outcome; written in few statements however many there are. */
import { type Selectable, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { UtcDay } from '../../values/time.js';
import { toU64Text } from '../column-values.js';
import type { BurnIntent, BurnOutcome, BurnRecord } from '../records.js';
import { executeInPieces, expectAffected, insertRows, type Session, takeNumbers } from '../session.js';
import type { BurnFilter, BurnRepository, ListedBurn } from '../store.js';
import type { BurnTable } from '../tables.js';

const toListed = (row: Omit<Selectable<BurnTable>, 'signed_transaction'>): ListedBurn => ({
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
  lastValidBlockHeight: BigInt(row.last_valid_block_height),
  errorCode: row.error_code,
  errorMessage: row.error_message,
  dateCreated: row.date_created,
  dateSettled: row.date_settled,
});

const toRecord = (row: Selectable<BurnTable>): BurnRecord => ({
  ...toListed(row),
  transaction: row.signed_transaction,
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
type Reads = Pick<BurnRepository, 'ofRequest' | 'list'>;

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

/** Burns that one call to list them looks at: about 10 ms. */
const MAX_LOOKED_AT = 10_000;

const LISTED = [
  'sequence',
  'request_id',
  'position',
  'token_id',
  'key_id',
  'proof_type',
  'proof_hash',
  'amount',
  'persist_onchain',
  'day',
  'status',
  'signature',
  'last_valid_block_height',
  'error_code',
  'error_message',
  'date_created',
  'date_settled',
] as const satisfies readonly (keyof BurnTable)[];

/** The oldest that is looked at, or `undefined` when nothing is older than what is. */
async function oldestLookedAt({ db }: Session, { tokenId, before }: BurnFilter): Promise<number | undefined> {
  let query = db
    .selectFrom('burns')
    .select('sequence')
    .where('token_id', '=', tokenId)
    .orderBy('sequence', 'desc')
    .offset(MAX_LOOKED_AT - 1)
    .limit(1);
  if (before !== undefined) query = query.where('sequence', '<', before);
  const row = await query.executeTakeFirst();
  return row && Number(row.sequence);
}

async function list(session: Session, filter: BurnFilter): Promise<Awaited<ReturnType<Reads['list']>>> {
  const { tokenId, types, status, proofHash, txHash, since, until, before, limit } = filter;
  // Both are found by an index, however many there are.
  const isFound = proofHash !== undefined || txHash !== undefined;
  const oldest = isFound ? undefined : await oldestLookedAt(session, filter);
  let query = session.db
    .selectFrom('burns')
    .select(LISTED)
    .where('token_id', '=', tokenId)
    .orderBy('sequence', 'desc')
    .limit(limit + 1);
  if (oldest !== undefined) query = query.where('sequence', '>=', oldest);
  if (before !== undefined) query = query.where('sequence', '<', before);
  if (types !== undefined) query = query.where('proof_type', 'in', types);
  if (status !== undefined) query = query.where('status', '=', status);
  if (txHash !== undefined) query = query.where('signature', '=', txHash);
  if (proofHash !== undefined)
    query = query
      .where(sql<boolean>`substr(proof_hash, 1, 16) = ${proofHash.slice(0, 16)}`)
      .where('proof_hash', '=', proofHash);
  if (since !== undefined) query = query.where('date_created', '>=', since);
  if (until !== undefined) query = query.where('date_created', '<', until);
  const rows = await query.execute();
  const items = rows.slice(0, limit).map(toListed);
  const last = rows.length > limit ? items.at(-1)?.sequence : oldest;
  return { items, next: last ?? null };
}

const reads = (session: Session): Reads => ({
  list: (filter) => list(session, filter),

  async ofRequest(requestId, from, to) {
    let query = session.db
      .selectFrom('burns')
      .selectAll()
      .where('request_id', '=', requestId)
      .orderBy('position');
    if (from !== undefined) query = query.where('position', '>=', from);
    if (to !== undefined) query = query.where('position', '<', to);
    return (await query.execute()).map(toRecord);
  },
});

export const burnRepository = (session: Session): BurnRepository => ({
  ...writes(session),
  ...reads(session),
});
