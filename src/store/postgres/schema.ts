/** What of the schema only PostgreSQL says so: its names of types, and its triggers. */
import { INITIAL_VERSION } from '../migrations/0001-initial.js';
import { LANDINGS_VERSION } from '../migrations/0002-landings.js';
import { PROJECTS_VERSION } from '../migrations/0004-projects.js';
import { ENDED_BATCHES_VERSION } from '../migrations/0006-ended-batches.js';
import type { SchemaDialect } from '../migrations/migration.js';

/** A rule that a row breaks when the condition holds; to whoever asks it is a constraint like any other. */
const rule = (
  name: string,
  event: string,
  table: string,
  condition: string,
  sentence: string,
): readonly string[] => [
  `create or replace function ${name}() returns trigger language plpgsql as $rule$
    begin
      if ${condition} then raise exception '${sentence}' using errcode = 'check_violation'; end if;
      ${event.endsWith('delete') ? 'return old;' : 'return new;'}
    end $rule$`,
  `create or replace trigger ${name} ${event} on ${table} for each row execute function ${name}()`,
];

const NO_TRANSITION = `old.status <> new.status
  and not (old.status = 'AVAILABLE_TO_QUEUE' and new.status in ('FINALIZED', 'FAILED'))
  and not (old.status = 'FINALIZED' and new.status in ('EXECUTED', 'FAILED'))`;

const INITIAL_TRIGGERS: readonly string[] = [
  ...rule(
    'batches_start',
    'before insert',
    'batches',
    "new.status <> 'AVAILABLE_TO_QUEUE'",
    'a batch begins as AVAILABLE_TO_QUEUE',
  ),
  ...rule(
    'batches_transition',
    'before update of status',
    'batches',
    NO_TRANSITION,
    'no such transition of a batch',
  ),
  ...rule('burns_start', 'before insert', 'burns', "new.status <> 'PENDING'", 'a burn begins as PENDING'),
  ...rule(
    'burns_settle',
    'before update of status, signature',
    'burns',
    "old.status <> 'PENDING'",
    'the burn is settled already',
  ),
  ...rule(
    'bundles_settle',
    'before update of status',
    'bundles',
    "old.status <> 'PENDING'",
    'the bundle is settled already',
  ),
  ...rule(
    'requests_keep',
    'before delete',
    'requests',
    "exists (select 1 from burns where burns.request_id = old.id and burns.status = 'PENDING')",
    'a request with pending burns is kept',
  ),
];

/** What has landed may become pending again where its landing is not final, and in no other way; so may what hangs on it. */
const LANDINGS_TRIGGERS: readonly string[] = [
  ...rule(
    'burns_settle',
    'before update of status, signature',
    'burns',
    `old.status <> 'PENDING'
      and not (old.status = 'SUCCESS' and new.status = 'PENDING' and new.signature = old.signature
        and exists (select 1 from landings where burn_sequence = old.sequence))`,
    'the burn is settled already',
  ),
  ...rule(
    'bundles_settle',
    'before update of status',
    'bundles',
    `old.status <> 'PENDING'
      and not (old.status = 'LANDED' and new.status = 'PENDING'
        and exists (select 1 from landings where bundle_id = old.id))`,
    'the bundle is settled already',
  ),
  ...rule(
    'batches_transition',
    'before update of status',
    'batches',
    `${NO_TRANSITION}
      and not (old.status in ('FINALIZED', 'EXECUTED', 'FAILED') and new.status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')
        and exists (select 1 from landings join bundles on bundles.id = landings.bundle_id where bundles.batch_id = old.id))`,
    'no such transition of a batch',
  ),
  ...rule(
    'requests_keep',
    'before delete',
    'requests',
    `exists (select 1 from burns where burns.request_id = old.id and burns.status = 'PENDING')
      or exists (select 1 from landings join burns on burns.sequence = landings.burn_sequence where burns.request_id = old.id)`,
    'a request with pending burns is kept',
  ),
];

/** As before, and what failed may be executed to its end by others. */
const ENDED_BATCHES_TRIGGERS = rule(
  'batches_transition',
  'before update of status',
  'batches',
  `${NO_TRANSITION}
    and not (old.status = 'FAILED' and new.status = 'EXECUTED')
    and not (old.status in ('FINALIZED', 'EXECUTED', 'FAILED') and new.status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')
      and exists (select 1 from landings join bundles on bundles.id = landings.bundle_id where bundles.batch_id = old.id))`,
  'no such transition of a batch',
);

/** What was written of who administered what stays as it is; a truncation asks no row. */
const AUDIT_TRIGGERS: readonly string[] = [
  ...rule('audit_log_unchanged', 'before update', 'audit_log', 'true', 'an entry of the audit log stays'),
  ...rule('audit_log_kept', 'before delete', 'audit_log', 'true', 'an entry of the audit log stays'),
  `create or replace trigger audit_log_whole before truncate on audit_log
    for each statement execute function audit_log_kept()`,
];

/** Room in each page, so that a count changes its row in place and no index. */
const RATE_COUNTS = `create table rate_counts (
  key text collate "C" primary key,
  whole_at_us bigint not null,
  allowed bigint not null check (allowed >= 0),
  counted_at_us bigint not null,
  interval_us bigint not null check (interval_us > 0),
  period_us bigint not null check (period_us >= interval_us)) with (fillfactor = 50)`;

/** Once its mint is stored, a registration is not one that has begun any more. */
const BEGUN_REGISTRATIONS: readonly string[] = [
  `create table begun_registrations (
    id text collate "C" primary key,
    mint text collate "C" not null unique,
    name text collate "C" not null unique,
    multisig text collate "C" not null,
    vault_index integer not null,
    genesis text collate "C" not null,
    actor text collate "C" not null,
    date_begun timestamptz not null default clock_timestamp(),
    unique (multisig, vault_index))`,
  `create or replace function begun_registrations_done() returns trigger language plpgsql as $done$
    begin
      delete from begun_registrations where mint = new.mint_address;
      return null;
    end $done$`,
  `create or replace trigger begun_registrations_done after insert on tokens
    for each row execute function begun_registrations_done()`,
];

/** Where many projects share a table, the newest burns of one are found without passing those of the others. */
const BURNS_OF_TOKEN = 'create index burns_of_token on burns (token_id, sequence)';

/**
 * Which line of history the data is on: a cluster of its own, a standby that took over or a recovery up to some time, another
 * database, tables that were restored. A restart changes none of it. What a server does not tell, it tells nobody: the part stays
 * empty. It runs with the rights of who made it, so that all who write see the same.
 */
const LINEAGE = `create or replace function lineage_of(data oid) returns text
  language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $lineage$
  declare cluster text := ''; timeline text := '';
  begin
    begin
      cluster := (select system_identifier from pg_control_system());
    exception when others then null;
    end;
    begin
      if not pg_is_in_recovery() then timeline := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8); end if;
    exception when others then null;
    end;
    return concat_ws('/', cluster, timeline, (select oid from pg_database where datname = current_database()), data);
  end $lineage$`;

/** A database that was in use before it was written down may itself be a copy; then its first writes wait. */
const FIRST_LINEAGE = `update progress
  set lineage = case when exists (select 1 from tokens) then 'unknown' else lineage_of('burns'::regclass) end`;

/** What SQLite calls so; one name for both. */
const INSTR = `create or replace function instr(whole text, part text) returns integer
  language sql immutable strict parallel safe return strpos(whole, part)`;

/** A row is of one project, and so is the key that it names; in place of the reference to the key alone. */
const keyOfProject = (table: string): readonly string[] => [
  `alter table ${table} drop constraint ${table}_key_id_fkey`,
  `alter table ${table} add constraint ${table}_key_of_project foreign key (key_id, token_id) references api_keys (id, token_id)`,
];

const MIXED = 'a row is of one project';

const ONE_PROJECT: readonly string[] = [
  'alter table api_keys add constraint api_keys_of_project unique (id, token_id)',
  'alter table flywheels add constraint flywheels_of_project unique (id, token_id)',
  ...['requests', 'burns', 'batches'].flatMap(keyOfProject),
  'alter table batches drop constraint batches_flywheel_id_fkey',
  `alter table batches add constraint batches_flywheel_of_project
    foreign key (flywheel_id, token_id) references flywheels (id, token_id)`,
  // A request may be forgotten before what it has made, so that there is nothing to refer to.
  ...['burns', 'batches'].flatMap((table) =>
    rule(
      `${table}_request_of_project`,
      'before insert or update of request_id, token_id',
      table,
      'new.token_id <> (select token_id from requests where id = new.request_id)',
      MIXED,
    ),
  ),
  ...rule(
    'usage_holds_project',
    'before insert or update of batch_id, token_id',
    'usage_holds',
    'new.token_id <> (select token_id from batches where id = new.batch_id)',
    MIXED,
  ),
];

const TRIGGERS: Readonly<Record<number, readonly string[]>> = {
  [INITIAL_VERSION]: [INSTR, ...INITIAL_TRIGGERS],
  [LANDINGS_VERSION]: LANDINGS_TRIGGERS,
  [PROJECTS_VERSION]: [
    ...AUDIT_TRIGGERS,
    LINEAGE,
    FIRST_LINEAGE,
    RATE_COUNTS,
    ...BEGUN_REGISTRATIONS,
    BURNS_OF_TOKEN,
    ...ONE_PROJECT,
  ],
  [ENDED_BATCHES_VERSION]: ENDED_BATCHES_TRIGGERS,
};

export const POSTGRES_SCHEMA: SchemaDialect = {
  integer: 'bigint',
  bytes: 'bytea',
  // Digits and times compare byte by byte, whatever the language of the database.
  text: 'text collate "C"',
  // What is no JSON at all fails as a value of that type.
  isJsonObject: (column) => `check (json_typeof(${column}::json) = 'object')`,
  triggers: (version) => TRIGGERS[version] ?? [],
};
