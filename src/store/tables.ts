/**
 * The columns of every table, as kysely sees them.
 *
 * Columns keep the spelling of SQL and repositories map them by hand: kysely's CamelCasePlugin rewrites each statement each time
 * that it runs, which was measured at a twentieth of the processor time of a burn (5.46 to 5.79 ms).
 *
 * Base units and other u64 are text of 20 digits, zero-padded, so that text compares as numbers do; times are ISO text; JSON is text.
 */

import type { Generated } from 'kysely';
import type { KeyedOperationId } from '../contract/operations.js';
import type { BatchStatus } from '../contract/schemas/batch.js';
import type { BundlePhase, BundleStatus, BurnStatus, RequestRecord, VoteKind } from './records.js';
import type { UsageKind } from './store.js';

/** 20 digits. */
type U64Text = string;
type JsonText = string;
type IsoText = string;

export interface TokenTable {
  id: string;
  name: string;
  symbol: string;
  mint_address: string;
  decimals: number;
  token_program: string;
  generation: string;
  supply: U64Text;
  burn_wallet: string;
  burn_token_account: string;
  date_created: IsoText;
}

export interface FlywheelTable {
  id: string;
  token_id: string;
  multisig: string;
  vault_index: number;
  vault_address: string;
  vault_token_account: string;
  owner: string;
  operator: string;
  proof_types: JsonText;
  daily_burn_cap: U64Text | null;
  daily_airdrop_cap: U64Text | null;
  /** Unique; `null` where a store holds one project. */
  name: Generated<string | null>;
  /** What the configuration of a data directory says of a cluster, except for its nodes; `null` where that says it. */
  place: Generated<JsonText | null>;
}

export interface ApiKeyTable {
  id: string;
  token_id: string;
  hash: string;
  scopes: JsonText;
  proof_types: JsonText | null;
  date_created: IsoText;
  date_revoked: IsoText | null;
  /** Valid before, and not from then on. */
  date_expires: Generated<IsoText | null>;
  /** Id of the key that it takes the place of. */
  rotated_from: Generated<string | null>;
}

export interface RequestTable {
  id: string;
  token_id: string;
  key_id: string;
  operation: KeyedOperationId;
  value: string;
  fingerprint: string;
  status: RequestRecord['status'];
  instance: string;
  lease_until_ms: number;
  reply: JsonText | null;
  batch_id: string | null;
  /** How many days had been noted when it was made. */
  day_count: number;
  date_created: IsoText;
}

export interface BurnTable {
  sequence: number;
  request_id: string;
  /** `index` is a reserved word of SQL. */
  position: number;
  token_id: string;
  key_id: string;
  proof_type: string;
  proof_hash: string;
  amount: U64Text;
  persist_onchain: number;
  day: string;
  status: Generated<BurnStatus>;
  signature: string;
  last_valid_block_height: U64Text;
  error_code: Generated<string | null>;
  error_message: Generated<string | null>;
  date_created: IsoText;
  date_settled: Generated<IsoText | null>;
  fee_lamports: Generated<number | null>;
}

/** While a burn is pending, and until its landing is final. */
export interface BurnTransactionTable {
  sequence: number;
  bytes: Uint8Array;
}

export interface DailyUsageTable {
  token_id: string;
  day: string;
  kind: UsageKind;
  landed: U64Text;
}

export interface UsageHoldTable {
  batch_id: string;
  kind: UsageKind;
  token_id: string;
  amount: U64Text;
  from_day: string;
  to_day: string | null;
}

export interface BatchTable {
  id: string;
  /** Rises with every batch; tells the newest. */
  ordinal: number;
  flywheel_id: string;
  token_id: string;
  key_id: string;
  request_id: string;
  status: BatchStatus;
  batch_index: U64Text;
  day: string;
  init_result: JsonText | null;
  execute_result: JsonText | null;
  setup_rent_lamports: U64Text;
  instance: string | null;
  lease_until_ms: number;
  fee_lamports: U64Text;
  rent_paid_lamports: U64Text;
  rent_reclaimed_lamports: U64Text;
  date_created: IsoText;
  date_updated: IsoText;
  date_cancelled: IsoText | null;
  date_closed: IsoText | null;
}

export interface IssuedVoteTable {
  signature: string;
  /** Rises with every vote. */
  ordinal: number;
  batch_id: string;
  kind: VoteKind;
  wire: Uint8Array;
  last_valid_block_height: U64Text;
  date_created: IsoText;
}

/** Apart from the batch, because it is large and never changes. */
export interface BatchPlanTable {
  batch_id: string;
  pipelines: JsonText;
}

export interface BundleTable {
  id: string;
  /** Rises with every bundle. */
  sequence: number;
  batch_id: string;
  phase: BundlePhase;
  first_transaction: number;
  bundle_id: string;
  last_valid_block_height: U64Text;
  status: BundleStatus;
  error_message: string | null;
  failed_transaction: number | null;
}

export interface BundleTransactionTable {
  bundle_id: string;
  position: number;
  signature: string;
  bytes: Uint8Array;
}

/** Of one burn or one bundle. */
export interface LandingTable {
  burn_sequence: number | null;
  bundle_id: string | null;
  slot: number;
  date_landed: IsoText;
  /** Digits. */
  fee_lamports: string;
}

/** One row for each administrative act; none is ever changed. */
export interface AuditLogTable {
  ordinal: number;
  /** `null` for what concerns the whole store. */
  token_id: string | null;
  /** Who did it: a user of a machine, or a key. */
  actor: string;
  action: string;
  /** Id of what it was done to. */
  subject: string | null;
  detail: JsonText;
  date_created: IsoText;
}

/** What the chain knows of a project and the store does not, because an older copy of it was restored. */
export interface GapTable {
  id: string;
  token_id: string;
  status: 'OPEN' | 'ACCEPTED';
  burns: number;
  /** Base units that were burned, by burns and batches. */
  amount: U64Text;
  airdropped: U64Text;
  transactions: number;
  first_signature: string;
  last_signature: string;
  date_found: IsoText;
  date_accepted: IsoText | null;
}

/** A transaction of a gap. */
export interface GapTransactionTable {
  gap_id: string;
  /** In the order in which they landed. */
  position: number;
  signature: string;
  burned: U64Text;
  airdropped: U64Text;
  memo: string | null;
  date_landed: IsoText | null;
}

/** Up to which transaction of an account all was looked at. */
export interface ChainMarkTable {
  account: string;
  token_id: string;
  signature: string;
}

export type CounterName = 'burn' | 'batch' | 'bundle' | 'vote' | 'day' | 'audit';

export interface CounterTable {
  name: CounterName;
  /** The last number given out. */
  value: number;
}

/** One row. */
export interface ProgressTable {
  id: number;
  genesis: string | null;
  revision: number;
  ledger_mark: string;
  lineage: string;
  /** Height of a block. */
  held_until: number | null;
}

/** Days on which the store was in use. */
export interface NotedDayTable {
  day: string;
}

export interface MigrationTable {
  version: number;
  name: string;
}

export interface Tables {
  tokens: TokenTable;
  flywheels: FlywheelTable;
  api_keys: ApiKeyTable;
  requests: RequestTable;
  burns: BurnTable;
  daily_usage: DailyUsageTable;
  usage_holds: UsageHoldTable;
  batches: BatchTable;
  batch_plans: BatchPlanTable;
  issued_votes: IssuedVoteTable;
  bundles: BundleTable;
  bundle_transactions: BundleTransactionTable;
  burn_transactions: BurnTransactionTable;
  landings: LandingTable;
  audit_log: AuditLogTable;
  gaps: GapTable;
  gap_transactions: GapTransactionTable;
  chain_marks: ChainMarkTable;
  counters: CounterTable;
  noted_days: NotedDayTable;
  progress: ProgressTable;
  store_migrations: MigrationTable;
}
