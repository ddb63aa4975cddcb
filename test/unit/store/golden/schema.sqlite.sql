create table "projects" (
  "id" text not null,
  "flywheel_id" text not null,
  "name" text,
  "token_name" text not null,
  "symbol" text not null,
  "mint_address" text not null,
  "decimals" integer not null check ("decimals" between 0 and 255),
  "token_program" text not null check ("token_program" in ('token', 'token-2022')),
  "generation" text not null check ("generation" in ('v1', 'v2')),
  "supply" text not null check (length("supply") = 20 and ltrim("supply", '0123456789') = '' and "supply" <= '18446744073709551615'),
  "burn_wallet" text not null,
  "burn_token_account" text not null,
  "multisig" text not null,
  "vault_index" integer not null check ("vault_index" between 0 and 255),
  "vault" text not null,
  "vault_token_account" text not null,
  "owner" text not null,
  "operator" text not null,
  "proof_types" text not null check (json_valid("proof_types")),
  "daily_burn_cap" text check (length("daily_burn_cap") = 20 and ltrim("daily_burn_cap", '0123456789') = '' and "daily_burn_cap" <= '18446744073709551615'),
  "daily_airdrop_cap" text check (length("daily_airdrop_cap") = 20 and ltrim("daily_airdrop_cap", '0123456789') = '' and "daily_airdrop_cap" <= '18446744073709551615'),
  "date_caps_lowered" text,
  "facts" text check (json_valid("facts")),
  "min_operator_sol" text check (length("min_operator_sol") = 20 and ltrim("min_operator_sol", '0123456789') = '' and "min_operator_sol" <= '18446744073709551615'),
  "max_batch_rent" text check (length("max_batch_rent") = 20 and ltrim("max_batch_rent", '0123456789') = '' and "max_batch_rent" <= '18446744073709551615'),
  "date_created" text not null,
  primary key ("id"),
  unique ("flywheel_id"),
  unique ("mint_address"),
  unique ("multisig", "vault_index"));

create unique index projects_name on "projects" (name) where name is not null;

create table "api_keys" (
  "id" text not null,
  "token_id" text not null,
  "hash" text not null,
  "name" text,
  "scopes" text not null check (json_valid("scopes")),
  "proof_types" text check (json_valid("proof_types")),
  "date_created" text not null,
  "date_revoked" text,
  "date_expires" text,
  primary key ("id"),
  unique ("hash"),
  unique ("id", "token_id"),
  foreign key ("token_id") references projects ("id"));

create index api_keys_of_token on "api_keys" (token_id);

create table "batches" (
  "ordinal" integer primary key autoincrement,
  "id" text not null,
  "token_id" text not null,
  "key_id" text not null,
  "request_id" text not null,
  "status" text not null check ("status" in ('AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED')),
  "batch_index" text not null check (length("batch_index") = 20 and ltrim("batch_index", '0123456789') = '' and "batch_index" <= '18446744073709551615'),
  "burn_left" text check (length("burn_left") = 20 and ltrim("burn_left", '0123456789') = '' and "burn_left" <= '18446744073709551615'),
  "airdrop_left" text check (length("airdrop_left") = 20 and ltrim("airdrop_left", '0123456789') = '' and "airdrop_left" <= '18446744073709551615'),
  "held_from" text,
  "held_to" text,
  "init_result" text check (json_valid("init_result")),
  "execute_result" text check (json_valid("execute_result")),
  "pipeline_count" integer not null check ("pipeline_count" >= 0),
  "burn" text not null check (length("burn") = 20 and ltrim("burn", '0123456789') = '' and "burn" <= '18446744073709551615'),
  "airdrop" text not null check (length("airdrop") = 20 and ltrim("airdrop", '0123456789') = '' and "airdrop" <= '18446744073709551615'),
  "recipients" integer not null check ("recipients" >= 0),
  "setup_rent_lamports" text not null check (length("setup_rent_lamports") = 20 and ltrim("setup_rent_lamports", '0123456789') = '' and "setup_rent_lamports" <= '18446744073709551615'),
  "holder" text,
  "lease_until_ms" integer not null,
  "date_created" text not null,
  "date_updated" text not null,
  "date_cancelled" text,
  "date_closed" text,
  unique ("id"),
  unique ("id", "token_id"),
  foreign key ("token_id") references projects ("id"),
  foreign key ("key_id", "token_id") references api_keys ("id", "token_id"),
  check (date_cancelled is null or status = 'FAILED'),
  check (status in ('AVAILABLE_TO_QUEUE', 'FINALIZED') or execute_result is not null));

create index batches_open on "batches" (token_id, ordinal) where status in ('AVAILABLE_TO_QUEUE', 'FINALIZED');

create index batches_status on "batches" (status);

create index batches_of_request on "batches" (request_id);

create index batches_of_token on "batches" (token_id, ordinal);

create index batches_not_closed on "batches" (token_id) where date_closed is null;

create index batches_held on "batches" (token_id) where held_from is not null;

create table "pipelines" (
  "batch_id" text not null,
  "position" integer not null check ("position" >= 0),
  "token_id" text not null,
  "type" text not null,
  "payload" text not null,
  "proof_hash" text not null,
  "actions" text not null check (json_valid("actions")),
  "message" text not null,
  "burn" text not null check (length("burn") = 20 and ltrim("burn", '0123456789') = '' and "burn" <= '18446744073709551615'),
  "airdrop" text not null check (length("airdrop") = 20 and ltrim("airdrop", '0123456789') = '' and "airdrop" <= '18446744073709551615'),
  "signature" text,
  "date_landed" text,
  primary key ("batch_id", "position"),
  foreign key ("batch_id", "token_id") references batches ("id", "token_id"),
  check (signature is null or date_landed is not null));

create index pipelines_of_type on "pipelines" (batch_id, type);

create index pipelines_of_proof on "pipelines" (substr(proof_hash, 1, 16));

create index pipelines_signature on "pipelines" (signature) where signature is not null;

create index pipelines_landed on "pipelines" (token_id, date_landed) where date_landed is not null;

create table "pipeline_actions" (
  "batch_id" text not null,
  "position" integer not null check ("position" >= 0),
  "number" integer not null check ("number" >= 0),
  "kind" text not null check ("kind" in ('BURN', 'AIRDROP', 'MEMO')),
  "amount" text check (length("amount") = 20 and ltrim("amount", '0123456789') = '' and "amount" <= '18446744073709551615'),
  "recipient" text,
  primary key ("batch_id", "position", "number"),
  foreign key ("batch_id", "position") references pipelines ("batch_id", "position"));

create index pipeline_actions_of_kind on "pipeline_actions" (batch_id, kind);

create index pipeline_actions_to on "pipeline_actions" (recipient, batch_id) where recipient is not null;

create table "issued_votes" (
  "ordinal" integer primary key autoincrement,
  "batch_id" text not null,
  "kind" text not null check ("kind" in ('approve', 'reject', 'cancel')),
  "transaction" blob not null,
  "signature" text not null,
  "last_valid_block_height" text not null check (length("last_valid_block_height") = 20 and ltrim("last_valid_block_height", '0123456789') = '' and "last_valid_block_height" <= '18446744073709551615'),
  "is_over" integer not null check ("is_over" in (0, 1)),
  "date_created" text not null,
  unique ("signature"),
  foreign key ("batch_id") references batches ("id"));

create index issued_votes_of_batch on "issued_votes" (batch_id, ordinal);

create index issued_votes_open on "issued_votes" (ordinal) where is_over = 0;

create table "batch_costs" (
  "signature" text not null,
  "batch_id" text not null,
  "operator_lamports" integer not null,
  "vault_lamports" integer not null,
  primary key ("signature"),
  foreign key ("batch_id") references batches ("id"));

create index batch_costs_of_batch on "batch_costs" (batch_id);

create table "batch_transactions" (
  "signature" text not null,
  "batch_id" text not null,
  "phase" text not null check ("phase" in ('SETUP', 'OWNER_APPROVAL', 'OPERATOR_APPROVAL', 'EXECUTE', 'CANCEL', 'CLOSE')),
  "first" integer not null check ("first" >= 0),
  "position" integer not null check ("position" >= 0),
  "bundle_id" text not null,
  "bytes" blob not null,
  "last_valid_block_height" text not null check (length("last_valid_block_height") = 20 and ltrim("last_valid_block_height", '0123456789') = '' and "last_valid_block_height" <= '18446744073709551615'),
  "status" text not null check ("status" in ('PENDING', 'LANDED', 'FAILED', 'EXPIRED')),
  "error_message" text,
  primary key ("signature"),
  foreign key ("batch_id") references batches ("id"));

create index batch_transactions_of_batch on "batch_transactions" (batch_id);

create unique index batch_transactions_live on "batch_transactions" (batch_id, phase, first, position) where status in ('PENDING', 'LANDED');

create table "requests" (
  "id" text not null,
  "token_id" text not null,
  "key_id" text not null,
  "operation" text not null check ("operation" in ('burn', 'burnBatch', 'initBatch', 'executeBatch')),
  "value" text not null,
  "fingerprint" text not null,
  "status" text not null check ("status" in ('running', 'done')),
  "holder" text,
  "lease_until_ms" integer not null,
  "reply" text,
  "day_count" integer not null,
  "last_gap" integer not null,
  "date_created" text not null,
  primary key ("id"),
  unique ("token_id", "operation", "value"),
  foreign key ("key_id", "token_id") references api_keys ("id", "token_id"),
  check ((status = 'done') = (reply is not null)));

create index requests_running on "requests" (date_created, id) where status = 'running';

create index requests_done on "requests" (day_count) where status = 'done';

create table "noted_days" (
  "day" text not null,
  "day_count" integer not null,
  primary key ("day"),
  unique ("day_count"));

create table "burns" (
  "sequence" integer not null,
  "request_id" text not null,
  "index" integer not null check ("index" >= 0),
  "token_id" text not null,
  "key_id" text not null,
  "proof_type" text not null,
  "proof_hash" text not null,
  "amount" text not null check (length("amount") = 20 and ltrim("amount", '0123456789') = '' and "amount" <= '18446744073709551615'),
  "persist_onchain" integer not null check ("persist_onchain" in (0, 1)),
  "day" text not null,
  "status" text not null check ("status" in ('PENDING', 'CONFIRMED', 'FINAL', 'FAILED')),
  "signature" text not null,
  "transaction" blob,
  "last_valid_block_height" text not null check (length("last_valid_block_height") = 20 and ltrim("last_valid_block_height", '0123456789') = '' and "last_valid_block_height" <= '18446744073709551615'),
  "error_code" text,
  "error_message" text,
  "date_created" text not null,
  "date_settled" text,
  "fee_lamports" text check (length("fee_lamports") = 20 and ltrim("fee_lamports", '0123456789') = '' and "fee_lamports" <= '18446744073709551615'),
  primary key ("sequence"),
  unique ("signature"),
  unique ("request_id", "index"),
  foreign key ("token_id") references projects ("id"),
  foreign key ("key_id", "token_id") references api_keys ("id", "token_id"),
  check (amount > '00000000000000000000'),
  check ((status = 'PENDING') = (date_settled is null)),
  check ((status = 'FAILED') = (error_code is not null)),
  check (("transaction" is not null) = (status in ('PENDING', 'CONFIRMED'))));

create index burns_open on "burns" (token_id, day) where status in ('PENDING', 'CONFIRMED');

create index burns_of_token on "burns" (token_id, sequence);

create index burns_landed on "burns" (token_id, date_settled) where status in ('CONFIRMED', 'FINAL');

create index burns_of_proof on "burns" (substr(proof_hash, 1, 16));

create table "daily_usage" (
  "token_id" text not null,
  "day" text not null,
  "kind" text not null check ("kind" in ('burn', 'airdrop')),
  "landed" text not null check (length("landed") = 20 and ltrim("landed", '0123456789') = '' and "landed" <= '18446744073709551615'),
  primary key ("token_id", "day", "kind"),
  foreign key ("token_id") references projects ("id"));

create table "audit_log" (
  "ordinal" integer primary key autoincrement,
  "token_id" text,
  "actor" text not null,
  "action" text not null check ("action" in ('register', 'keys.create', 'keys.revoke', 'caps.set', 'gap.accept', 'copy')),
  "subject" text,
  "detail" text not null check (json_valid("detail")),
  "date_created" text not null,
  foreign key ("token_id") references projects ("id"));

create index audit_log_of_token on "audit_log" (token_id, ordinal);

create trigger audit_log_update before update on audit_log
  begin select raise(abort, 'an entry of audit_log stays'); end;

create trigger audit_log_delete before delete on audit_log
  begin select raise(abort, 'an entry of audit_log stays'); end;

create table "gap_transactions" (
  "ordinal" integer primary key autoincrement,
  "token_id" text not null,
  "signature" text not null,
  "burned" text not null check (length("burned") = 20 and ltrim("burned", '0123456789') = '' and "burned" <= '18446744073709551615'),
  "airdropped" text not null check (length("airdropped") = 20 and ltrim("airdropped", '0123456789') = '' and "airdropped" <= '18446744073709551615'),
  "memo" text,
  "date_landed" text,
  "date_found" text not null,
  "date_accepted" text,
  unique ("signature"),
  foreign key ("token_id") references projects ("id"));

create index gap_transactions_open on "gap_transactions" (token_id, ordinal) where date_accepted is null;

create table "chain_marks" (
  "account" text not null,
  "token_id" text not null,
  "signature" text not null,
  primary key ("account"),
  foreign key ("token_id") references projects ("id"));

create table "progress" (
  "id" text not null,
  "genesis" text,
  "ledger_mark" text not null,
  "lineage" text not null,
  "held_until" text check (length("held_until") = 20 and ltrim("held_until", '0123456789') = '' and "held_until" <= '18446744073709551615'),
  primary key ("id"),
  check (id = 'store'),
  check (held_until is null or lineage <> ''));

pragma application_id = 1179408723;

create table burn_numbers (last integer not null);

insert into burn_numbers values (0);

insert into progress (id, ledger_mark, lineage) values ('store', '', 'file');
