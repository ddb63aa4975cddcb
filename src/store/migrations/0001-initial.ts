/** The first schema: every table, with the invariants that a constraint can state. */
import { isOneOf, isU64 } from './constraints.js';
import type { Migration, SchemaDialect } from './migration.js';

/** Version 1 was never released. */
export const INITIAL_VERSION = 2;

const registration = ({ integer, text }: SchemaDialect): readonly string[] => [
  `create table tokens (
    id ${text} primary key,
    name ${text} not null,
    symbol ${text} not null,
    mint_address ${text} not null unique,
    decimals ${integer} not null check (decimals between 0 and 255),
    token_program ${text} not null ${isOneOf('token_program', ['token', 'token-2022'])},
    generation ${text} not null ${isOneOf('generation', ['v1', 'v2'])},
    supply ${text} not null ${isU64('supply')},
    burn_wallet ${text} not null,
    burn_token_account ${text} not null,
    date_created ${text} not null)`,
  `create table flywheels (
    id ${text} primary key,
    token_id ${text} not null unique references tokens (id),
    multisig ${text} not null,
    vault_index ${integer} not null check (vault_index between 0 and 255),
    vault_address ${text} not null,
    vault_token_account ${text} not null,
    owner ${text} not null,
    operator ${text} not null,
    proof_types ${text} not null,
    daily_burn_cap ${text} ${isU64('daily_burn_cap')},
    daily_airdrop_cap ${text} ${isU64('daily_airdrop_cap')},
    unique (multisig, vault_index))`,
  `create table api_keys (
    id ${text} primary key,
    token_id ${text} not null references tokens (id),
    hash ${text} not null unique,
    scopes ${text} not null,
    proof_types ${text},
    date_created ${text} not null,
    date_revoked ${text})`,
  'create index api_keys_of_token on api_keys (token_id)',
];

const requests = ({ integer, text }: SchemaDialect): readonly string[] => [
  // The token of a key may be gone; its requests are answered, and the answers kept, all the same.
  `create table requests (
    id ${text} primary key,
    token_id ${text} not null,
    key_id ${text} not null references api_keys (id),
    operation ${text} not null ${isOneOf('operation', ['burn', 'burnBatch', 'initBatch', 'executeBatch'])},
    value ${text} not null,
    fingerprint ${text} not null,
    status ${text} not null ${isOneOf('status', ['running', 'done'])},
    instance ${text} not null,
    lease_until_ms ${integer} not null,
    reply ${text},
    batch_id ${text} references batches (id) deferrable initially deferred,
    day_count ${integer} not null,
    date_created ${text} not null,
    unique (token_id, operation, value),
    check ((status = 'done') = (reply is not null)))`,
  "create index requests_running on requests (date_created, id) where status = 'running'",
  // Serves the foreign key: the request may be linked before its batch is inserted.
  'create index requests_of_batch on requests (batch_id) where batch_id is not null',
  "create index requests_done on requests (day_count) where status = 'done'",
  `create table noted_days (day ${text} primary key)`,
];

const burns = ({ integer, bytes, text }: SchemaDialect): readonly string[] => [
  `create table burns (
    sequence ${integer} primary key,
    request_id ${text} not null,
    position ${integer} not null check (position >= 0),
    token_id ${text} not null references tokens (id),
    key_id ${text} not null references api_keys (id),
    proof_type ${text} not null,
    proof_hash ${text} not null,
    amount ${text} not null ${isU64('amount')} check (amount > '00000000000000000000'),
    persist_onchain ${integer} not null check (persist_onchain in (0, 1)),
    day ${text} not null,
    status ${text} not null default 'PENDING' ${isOneOf('status', ['PENDING', 'SUCCESS', 'FAILED'])},
    signature ${text} not null unique,
    signed_transaction ${bytes} not null,
    last_valid_block_height ${text} not null ${isU64('last_valid_block_height')},
    error_code ${text},
    error_message ${text},
    date_created ${text} not null,
    date_settled ${text},
    unique (request_id, position),
    check ((status = 'PENDING') = (date_settled is null)),
    check ((status = 'FAILED') = (error_code is not null)))`,
  // What may still land: read at every reservation, and nearly always next to nothing.
  "create index burns_pending on burns (token_id) where status = 'PENDING'",
  `create table daily_usage (
    token_id ${text} not null references tokens (id),
    day ${text} not null,
    kind ${text} not null ${isOneOf('kind', ['burn', 'airdrop'])},
    landed ${text} not null ${isU64('landed')},
    primary key (token_id, day, kind))`,
];

const batches = ({ integer, text }: SchemaDialect): readonly string[] => [
  `create table batches (
    id ${text} primary key,
    ordinal ${integer} not null unique,
    flywheel_id ${text} not null references flywheels (id),
    token_id ${text} not null references tokens (id),
    key_id ${text} not null references api_keys (id),
    request_id ${text} not null,
    status ${text} not null ${isOneOf('status', ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED'])},
    batch_index ${text} not null ${isU64('batch_index')},
    day ${text} not null,
    init_result ${text},
    execute_result ${text},
    setup_rent_lamports ${text} not null ${isU64('setup_rent_lamports')},
    instance ${text},
    lease_until_ms ${integer} not null,
    fee_lamports ${text} not null ${isU64('fee_lamports')},
    rent_paid_lamports ${text} not null ${isU64('rent_paid_lamports')},
    rent_reclaimed_lamports ${text} not null ${isU64('rent_reclaimed_lamports')},
    date_created ${text} not null,
    date_updated ${text} not null,
    date_cancelled ${text},
    date_closed ${text},
    check (date_cancelled is null or status = 'FAILED'),
    check (status in ('AVAILABLE_TO_QUEUE', 'FINALIZED') or execute_result is not null))`,
  `create index batches_open on batches (token_id, ordinal) where status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')`,
  'create index batches_status on batches (status)',
  'create index batches_of_token on batches (token_id, ordinal)',
  'create index batches_not_closed on batches (flywheel_id) where date_closed is null',
  `create table batch_plans (
    batch_id ${text} primary key references batches (id),
    pipelines ${text} not null)`,
];

/** What of a batch counts against caps, and what its owner was asked to sign. */
const batchMatters = ({ integer, bytes, text }: SchemaDialect): readonly string[] => [
  `create table usage_holds (
    batch_id ${text} not null references batches (id),
    kind ${text} not null ${isOneOf('kind', ['burn', 'airdrop'])},
    token_id ${text} not null references tokens (id),
    amount ${text} not null ${isU64('amount')},
    from_day ${text} not null,
    to_day ${text},
    primary key (batch_id, kind))`,
  'create index usage_holds_of_token on usage_holds (token_id, kind)',
  `create table issued_votes (
    signature ${text} primary key,
    ordinal ${integer} not null unique,
    batch_id ${text} not null references batches (id),
    kind ${text} not null ${isOneOf('kind', ['approve', 'reject', 'cancel'])},
    wire ${bytes} not null,
    last_valid_block_height ${text} not null ${isU64('last_valid_block_height')},
    date_created ${text} not null)`,
  'create index issued_votes_of_batch on issued_votes (batch_id, ordinal)',
];

const bundles = ({ integer, bytes, text }: SchemaDialect): readonly string[] => [
  `create table bundles (
    id ${text} primary key,
    sequence ${integer} not null unique,
    batch_id ${text} not null references batches (id),
    phase ${text} not null ${isOneOf('phase', [
      'SETUP',
      'OWNER_APPROVAL',
      'OPERATOR_APPROVAL',
      'EXECUTE',
      'CANCEL',
      'CLOSE',
    ])},
    first_transaction ${integer} not null check (first_transaction >= 0),
    bundle_id ${text} not null unique,
    last_valid_block_height ${text} not null ${isU64('last_valid_block_height')},
    status ${text} not null ${isOneOf('status', ['PENDING', 'LANDED', 'FAILED', 'EXPIRED'])},
    error_message ${text},
    failed_transaction ${integer})`,
  'create index bundles_of_batch on bundles (batch_id)',
  // Of each step no more than one bundle is under way or done: a step is never taken twice.
  `create unique index bundles_live on bundles (batch_id, phase, first_transaction) where status in ('PENDING', 'LANDED')`,
  `create table bundle_transactions (
    bundle_id ${text} not null references bundles (id),
    position ${integer} not null check (position >= 0),
    signature ${text} not null unique,
    bytes ${bytes} not null,
    primary key (bundle_id, position))`,
];

export const initialSchema: Migration = {
  version: INITIAL_VERSION,
  name: 'initial',
  statements: (dialect) => [
    `create table counters (name ${dialect.text} primary key, value ${dialect.integer} not null)`,
    "insert into counters (name, value) values ('burn', 0), ('batch', 0), ('bundle', 0), ('vote', 0), ('day', 0)",
    `create table progress (
      id ${dialect.integer} primary key check (id = 1),
      genesis ${dialect.text},
      revision ${dialect.integer} not null,
      ledger_mark ${dialect.text} not null)`,
    "insert into progress (id, revision, ledger_mark) values (1, 0, '')",
    ...registration(dialect),
    ...batches(dialect),
    ...batchMatters(dialect),
    ...requests(dialect),
    ...burns(dialect),
    ...bundles(dialect),
  ],
};
