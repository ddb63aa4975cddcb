/** Which tables a move takes along, in an order in which each row finds those that it refers to, and what is left behind. */
import type { Tables } from '../tables.js';

/** How a value is written: as text, as a number, or as base64 of bytes; or `null`. */
export type ColumnKind = 'text' | 'integer' | 'bytes';

export interface CopiedTable {
  readonly name: keyof Tables;
  readonly columns: Readonly<Record<string, ColumnKind>>;
  /** SQL of what the rows are in order of; no two rows have the same. */
  readonly key: readonly string[];
  /** SQL of what is written in place of a column: a lease is let go of, because who holds it works on the other store. */
  readonly instead: Readonly<Record<string, string>>;
  /** Few where rows may be large, so that never much is in memory. */
  readonly rowsPerPage: number;
  /**
   * `empty`: a store that has rows of it is none to move into. `replaced`: a fresh store has some, which give way. `kept`: they
   * come again behind those that are moved.
   */
  readonly ofFresh: 'empty' | 'replaced' | 'kept';
}

type Columns<Name extends keyof Tables> = {
  readonly [Column in keyof Tables[Name] & string]: ColumnKind;
};

const moved = <Name extends keyof Tables>(
  name: Name,
  key: readonly string[],
  columns: Columns<Name>,
  { instead = {}, rowsPerPage = 500, ofFresh = 'empty' }: Partial<CopiedTable> = {},
): CopiedTable => ({ name, columns, key, instead, rowsPerPage, ofFresh });

const text = 'text';
const integer = 'integer';
const bytes = 'bytes';

const registration: readonly CopiedTable[] = [
  moved('tokens', ['id'], {
    id: text,
    name: text,
    symbol: text,
    mint_address: text,
    decimals: integer,
    token_program: text,
    generation: text,
    supply: text,
    burn_wallet: text,
    burn_token_account: text,
    date_created: text,
  }),
  moved('flywheels', ['id'], {
    id: text,
    token_id: text,
    multisig: text,
    vault_index: integer,
    vault_address: text,
    vault_token_account: text,
    owner: text,
    operator: text,
    proof_types: text,
    daily_burn_cap: text,
    daily_airdrop_cap: text,
    name: text,
    place: text,
  }),
  moved('api_keys', ['id'], {
    id: text,
    token_id: text,
    hash: text,
    scopes: text,
    proof_types: text,
    date_created: text,
    date_revoked: text,
    date_expires: text,
    rotated_from: text,
  }),
];

const batches: readonly CopiedTable[] = [
  moved(
    'batches',
    ['id'],
    {
      id: text,
      ordinal: integer,
      flywheel_id: text,
      token_id: text,
      key_id: text,
      request_id: text,
      status: text,
      batch_index: text,
      day: text,
      init_result: text,
      execute_result: text,
      setup_rent_lamports: text,
      instance: text,
      lease_until_ms: integer,
      fee_lamports: text,
      rent_paid_lamports: text,
      rent_reclaimed_lamports: text,
      date_created: text,
      date_updated: text,
      date_cancelled: text,
      date_closed: text,
    },
    { instead: { instance: 'cast(null as text)', lease_until_ms: '0' }, rowsPerPage: 32 },
  ),
  moved('batch_plans', ['batch_id'], { batch_id: text, pipelines: text }, { rowsPerPage: 1 }),
  moved('usage_holds', ['batch_id', 'kind'], {
    batch_id: text,
    kind: text,
    token_id: text,
    amount: text,
    from_day: text,
    to_day: text,
  }),
  moved('issued_votes', ['signature'], {
    signature: text,
    ordinal: integer,
    batch_id: text,
    kind: text,
    wire: bytes,
    last_valid_block_height: text,
    date_created: text,
  }),
  moved('bundles', ['id'], {
    id: text,
    sequence: integer,
    batch_id: text,
    phase: text,
    first_transaction: integer,
    bundle_id: text,
    last_valid_block_height: text,
    status: text,
    error_message: text,
    failed_transaction: integer,
  }),
  moved('bundle_transactions', ['bundle_id', 'position'], {
    bundle_id: text,
    position: integer,
    signature: text,
    bytes,
  }),
];

const burns: readonly CopiedTable[] = [
  moved(
    'requests',
    ['id'],
    {
      id: text,
      token_id: text,
      key_id: text,
      operation: text,
      value: text,
      fingerprint: text,
      status: text,
      instance: text,
      lease_until_ms: integer,
      reply: text,
      batch_id: text,
      day_count: integer,
      date_created: text,
    },
    { instead: { instance: "''", lease_until_ms: '0' }, rowsPerPage: 32 },
  ),
  moved('burns', ['sequence'], {
    sequence: integer,
    request_id: text,
    position: integer,
    token_id: text,
    key_id: text,
    proof_type: text,
    proof_hash: text,
    amount: text,
    persist_onchain: integer,
    day: text,
    status: text,
    signature: text,
    last_valid_block_height: text,
    error_code: text,
    error_message: text,
    date_created: text,
    date_settled: text,
    fee_lamports: integer,
  }),
  moved('burn_transactions', ['sequence'], { sequence: integer, bytes }),
  moved('daily_usage', ['token_id', 'day', 'kind'], {
    token_id: text,
    day: text,
    kind: text,
    landed: text,
  }),
  moved('landings', ['coalesce(burn_sequence, 0)', "coalesce(bundle_id, '')"], {
    burn_sequence: integer,
    bundle_id: text,
    slot: integer,
    date_landed: text,
    fee_lamports: text,
  }),
];

/** Its first column is its number. */
export const AUDIT_LOG = moved(
  'audit_log',
  ['ordinal'],
  {
    ordinal: integer,
    token_id: text,
    actor: text,
    action: text,
    subject: text,
    detail: text,
    date_created: text,
  },
  { ofFresh: 'kept' },
);

const administration: readonly CopiedTable[] = [
  moved('gaps', ['id'], {
    id: text,
    token_id: text,
    status: text,
    burns: integer,
    amount: text,
    airdropped: text,
    transactions: integer,
    first_signature: text,
    last_signature: text,
    date_found: text,
    date_accepted: text,
  }),
  moved('gap_transactions', ['gap_id', 'position'], {
    gap_id: text,
    position: integer,
    signature: text,
    burned: text,
    airdropped: text,
    memo: text,
    date_landed: text,
  }),
  moved('chain_marks', ['account'], { account: text, token_id: text, signature: text }),
  AUDIT_LOG,
  moved('noted_days', ['day'], { day: text }, { ofFresh: 'replaced' }),
  moved('counters', ['name'], { name: text, value: integer }, { ofFresh: 'replaced' }),
];

/** In the order in which their rows are written. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ...registration,
  ...batches,
  ...burns,
  ...administration,
];

/**
 * `progress` stands in the header, what brings a store up to date writes its own, rates are counted again, and what has begun
 * is carried on where it did.
 */
export const LEFT_BEHIND: readonly string[] = [
  'progress',
  'store_migrations',
  'rate_counts',
  'begun_registrations',
];
