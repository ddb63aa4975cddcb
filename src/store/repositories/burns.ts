/** Burns: the intent of each, then its outcome; written in few statements however many there are. */
import { type Selectable, sql } from 'kysely';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { UtcDay } from '../../values/time.js';
import type { BurnFilter, BurnRepository, BurnSum, BurnSumsQuery, ListedBurn } from '../burn-repository.js';
import { toU64Text } from '../column-values.js';
import type { BurnIntent, BurnOutcome, BurnRecord } from '../records.js';
import { executeInPieces, expectAffected, insertRows, type Session, takeNumbers } from '../session.js';
import type { BurnTable } from '../tables.js';

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
  'fee_lamports',
] as const satisfies readonly (keyof BurnTable)[];

const toListed = (row: Pick<Selectable<BurnTable>, (typeof LISTED)[number]>): ListedBurn => ({
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
  feeLamports: row.fee_lamports === null ? null : BigInt(row.fee_lamports),
});

const toRecord = ({ bytes, ...row }: Selectable<BurnTable> & { bytes: Uint8Array | null }): BurnRecord => ({
  ...toListed(row),
  transaction: bytes,
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
  outcome.feeLamports === null ? null : Number(outcome.feeLamports),
];

/** One statement for many outcomes: each burn is found by its number, and changes only while it is pending. */
const settleStatement = (outcomes: readonly BurnOutcome[]) => {
  const rows = outcomes.map(
    (outcome) => sql`(cast(${outcome.sequence} as bigint), ${outcome.status}, ${outcome.errorCode},
      ${outcome.errorMessage}, ${outcome.dateSettled}, cast(${outcome.feeLamports} as bigint))`,
  );
  return sql`with settled (sequence, status, error_code, error_message, date_settled, fee_lamports) as (values ${sql.join(rows)})
    update burns set status = settled.status, error_code = settled.error_code, error_message = settled.error_message,
      date_settled = settled.date_settled, fee_lamports = settled.fee_lamports
    from settled where burns.sequence = settled.sequence and burns.status = ${PENDING}`;
};

/** Drops the bytes of burns. */
export async function dropTransactions(session: Session, sequences: readonly number[]): Promise<void> {
  await executeInPieces(session, {
    name: 'drop transactions of burns',
    rows: sequences,
    parameters: (sequence) => [sequence],
    build: (piece) => session.db.deleteFrom('burn_transactions').where('sequence', 'in', piece).compile(),
  });
}

type Writes = Pick<
  BurnRepository,
  'reserveSequences' | 'insertMany' | 'resign' | 'settleMany' | 'dropTransactions'
>;
type Reads = Pick<
  BurnRepository,
  'ofRequest' | 'list' | 'placeOf' | 'sequenceAt' | 'sums' | 'lastSequence' | 'countPending'
>;

const writes = (session: Session): Writes => ({
  reserveSequences: (count) => takeNumbers(session, 'burn', count),

  async insertMany(burns) {
    const { db } = session;
    await insertRows(session, 'burns', burns.map(toRow), (rows) =>
      db.insertInto('burns').values(rows).compile(),
    );
    const bytes = burns.map(({ sequence, transaction }) => ({ sequence, bytes: transaction }));
    await insertRows(session, 'burn_transactions', bytes, (rows) =>
      db.insertInto('burn_transactions').values(rows).compile(),
    );
  },

  async resign(sequence, expired, signed) {
    const { numUpdatedRows } = await session.db
      .updateTable('burns')
      .set({
        signature: signed.signature,
        last_valid_block_height: toU64Text(signed.lastValidBlockHeight),
      })
      .where('sequence', '=', sequence)
      .where('status', '=', PENDING)
      .where('signature', '=', expired)
      .executeTakeFirst();
    if (numUpdatedRows !== 1n)
      throw new FlywheelError(
        'ERR_DUPLICATE_IDEMPOTENCY_KEY',
        `Another engine carries burn ${sequence} on.`,
        { retryAfterSeconds: 1 },
      );
    const bytes = await session.db
      .updateTable('burn_transactions')
      .set({ bytes: signed.transaction })
      .where('sequence', '=', sequence)
      .executeTakeFirst();
    expectAffected(bytes.numUpdatedRows, 1, `The bytes of pending burn ${sequence} are missing.`);
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

  dropTransactions: (sequences) => dropTransactions(session, sequences),
});

/** Burns that one call to list them looks at: about 10 ms. */
const MAX_LOOKED_AT = 10_000;

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
  // Both are found by an index, however many there are; and where all are wanted, no more are looked at than are listed.
  const isFound = proofHash !== undefined || txHash !== undefined;
  const areAllWanted = [types, status, since, until].every((one) => one === undefined);
  const oldest = isFound || areAllWanted ? undefined : await oldestLookedAt(session, filter);
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

/** Digits in each half of an amount: the sums of the halves of 10^8 amounts are exact in 64 bits. */
const HALF_DIGITS = 10;
const HALF = 10n ** BigInt(HALF_DIGITS);

async function sums({ db }: Session, query: BurnSumsQuery): Promise<readonly BurnSum[]> {
  const { tokenId, from, to, since, until, types } = query;
  let select = db
    .selectFrom('burns')
    .select([
      sql<string>`substr(date_settled, 1, 10)`.as('day'),
      'proof_type',
      'status',
      sql<number>`count(*)`.as('count'),
      sql<number>`sum(cast(substr(amount, 1, ${sql.lit(HALF_DIGITS)}) as bigint))`.as('high'),
      sql<number>`sum(cast(substr(amount, ${sql.lit(HALF_DIGITS + 1)}) as bigint))`.as('low'),
      sql<number>`coalesce(sum(fee_lamports), 0)`.as('fees'),
    ])
    .where('sequence', '>=', from)
    .where('sequence', '<', to)
    .where('token_id', '=', tokenId)
    .where('date_settled', 'is not', null)
    .groupBy([sql`1`, 'proof_type', 'status']);
  if (since !== undefined) select = select.where('date_settled', '>=', since);
  if (until !== undefined) select = select.where('date_settled', '<', until);
  if (types !== undefined) select = select.where('proof_type', 'in', types);
  const rows = await select.execute();
  return rows.map(({ day, proof_type, status, count, high, low, fees }) => ({
    day: day as UtcDay,
    type: proof_type,
    isLanded: status === 'SUCCESS',
    count: Number(count),
    amount: BigInt(high) * HALF + BigInt(low),
    feeLamports: BigInt(fees),
  }));
}

const reads = (session: Session): Reads => ({
  sums: (query) => sums(session, query),

  async lastSequence() {
    const row = await session.db
      .selectFrom('counters')
      .select('value')
      .where('name', '=', 'burn')
      .executeTakeFirst();
    return Number(row?.value ?? 0);
  },

  async countPending(tokenId) {
    const row = await session.db
      .selectFrom('burns')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('token_id', '=', tokenId)
      .where('status', '=', PENDING)
      .executeTakeFirst();
    return Number(row?.count ?? 0);
  },

  list: (filter) => list(session, filter),

  async placeOf(sequence) {
    const row = await session.db
      .selectFrom('burns')
      .select(['request_id', 'position'])
      .where('sequence', '=', sequence)
      .executeTakeFirstOrThrow();
    return { requestId: row.request_id, index: row.position };
  },

  async sequenceAt(tokenId, { requestId, index }) {
    const row = await session.db
      .selectFrom('burns')
      .select('sequence')
      .where('request_id', '=', requestId)
      .where('position', '=', index)
      .where('token_id', '=', tokenId)
      .executeTakeFirst();
    return row && Number(row.sequence);
  },

  async ofRequest(requestId, from, to) {
    let query = session.db
      .selectFrom('burns')
      .leftJoin('burn_transactions', 'burn_transactions.sequence', 'burns.sequence')
      .selectAll('burns')
      .select('burn_transactions.bytes')
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
