/** What of the schema only SQLite says so: its names of types, and its triggers. */
import { FILE_LINEAGE } from '../kysely-store.js';
import { INITIAL_VERSION } from '../migrations/0001-initial.js';
import { LANDINGS_VERSION } from '../migrations/0002-landings.js';
import { PROJECTS_VERSION } from '../migrations/0004-projects.js';
import { ENDED_BATCHES_VERSION } from '../migrations/0006-ended-batches.js';
import type { SchemaDialect } from '../migrations/migration.js';

const refuse = (sentence: string): string => `begin select raise(abort, '${sentence}'); end`;

/** Marks the file as a store of flywheel: "FLYS" as a 32-bit number. */
export const APPLICATION_ID = 0x46_4c_59_53;

const INITIAL_TRIGGERS: readonly string[] = [
  `pragma application_id = ${APPLICATION_ID}`,
  `create trigger batches_start before insert on batches when new.status <> 'AVAILABLE_TO_QUEUE'
    ${refuse('a batch begins as AVAILABLE_TO_QUEUE')}`,
  `create trigger batches_transition before update of status on batches
    when old.status <> new.status
      and not (old.status = 'AVAILABLE_TO_QUEUE' and new.status in ('FINALIZED', 'FAILED'))
      and not (old.status = 'FINALIZED' and new.status in ('EXECUTED', 'FAILED'))
    ${refuse('no such transition of a batch')}`,
  `create trigger burns_start before insert on burns when new.status <> 'PENDING'
    ${refuse('a burn begins as PENDING')}`,
  `create trigger burns_settle before update of status, signature on burns when old.status <> 'PENDING'
    ${refuse('the burn is settled already')}`,
  `create trigger bundles_settle before update of status on bundles when old.status <> 'PENDING'
    ${refuse('the bundle is settled already')}`,
  `create trigger requests_keep before delete on requests
    when exists (select 1 from burns where burns.request_id = old.id and burns.status = 'PENDING')
    ${refuse('a request with pending burns is kept')}`,
];

/** What has landed may become pending again where its landing is not final, and in no other way; so may what hangs on it. */
const LANDINGS_TRIGGERS: readonly string[] = [
  'drop trigger burns_settle',
  `create trigger burns_settle before update of status, signature on burns
    when old.status <> 'PENDING'
      and not (old.status = 'SUCCESS' and new.status = 'PENDING' and new.signature = old.signature
        and exists (select 1 from landings where burn_sequence = old.sequence))
    ${refuse('the burn is settled already')}`,
  'drop trigger bundles_settle',
  `create trigger bundles_settle before update of status on bundles
    when old.status <> 'PENDING'
      and not (old.status = 'LANDED' and new.status = 'PENDING'
        and exists (select 1 from landings where bundle_id = old.id))
    ${refuse('the bundle is settled already')}`,
  'drop trigger batches_transition',
  `create trigger batches_transition before update of status on batches
    when old.status <> new.status
      and not (old.status = 'AVAILABLE_TO_QUEUE' and new.status in ('FINALIZED', 'FAILED'))
      and not (old.status = 'FINALIZED' and new.status in ('EXECUTED', 'FAILED'))
      and not (old.status in ('FINALIZED', 'EXECUTED', 'FAILED') and new.status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')
        and exists (select 1 from landings join bundles on bundles.id = landings.bundle_id where bundles.batch_id = old.id))
    ${refuse('no such transition of a batch')}`,
  'drop trigger requests_keep',
  `create trigger requests_keep before delete on requests
    when exists (select 1 from burns where burns.request_id = old.id and burns.status = 'PENDING')
      or exists (select 1 from landings join burns on burns.sequence = landings.burn_sequence where burns.request_id = old.id)
    ${refuse('a request with pending burns is kept')}`,
];

/** As before, and what failed may be executed to its end by others. */
const ENDED_BATCHES_TRIGGERS: readonly string[] = [
  'drop trigger batches_transition',
  `create trigger batches_transition before update of status on batches
    when old.status <> new.status
      and not (old.status = 'AVAILABLE_TO_QUEUE' and new.status in ('FINALIZED', 'FAILED'))
      and not (old.status = 'FINALIZED' and new.status in ('EXECUTED', 'FAILED'))
      and not (old.status = 'FAILED' and new.status = 'EXECUTED')
      and not (old.status in ('FINALIZED', 'EXECUTED', 'FAILED') and new.status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')
        and exists (select 1 from landings join bundles on bundles.id = landings.bundle_id where bundles.batch_id = old.id))
    ${refuse('no such transition of a batch')}`,
];

/** What was written of who administered what stays as it is. */
const AUDIT_TRIGGERS: readonly string[] = [
  `create trigger audit_log_unchanged before update on audit_log ${refuse('an entry of the audit log stays')}`,
  `create trigger audit_log_kept before delete on audit_log ${refuse('an entry of the audit log stays')}`,
];

const MIXED = 'a row is of one project';

/** A row is of one project, and so is all that it names. */
const mixes = (table: string, columns: string, condition: string): readonly string[] => [
  `create trigger ${table}_project before insert on ${table} when ${condition} ${refuse(MIXED)}`,
  `create trigger ${table}_project_kept before update of ${columns} on ${table} when ${condition} ${refuse(MIXED)}`,
];

const ONE_PROJECT: readonly string[] = [
  ...mixes(
    'requests',
    'key_id, token_id',
    'new.token_id <> (select token_id from api_keys where id = new.key_id)',
  ),
  ...mixes(
    'burns',
    'key_id, token_id, request_id',
    `new.token_id <> (select token_id from api_keys where id = new.key_id)
      or new.token_id <> (select token_id from requests where id = new.request_id)`,
  ),
  ...mixes(
    'batches',
    'key_id, token_id, flywheel_id, request_id',
    `new.token_id <> (select token_id from api_keys where id = new.key_id)
      or new.token_id <> (select token_id from flywheels where id = new.flywheel_id)
      or new.token_id <> (select token_id from requests where id = new.request_id)`,
  ),
  ...mixes(
    'usage_holds',
    'batch_id, token_id',
    'new.token_id <> (select token_id from batches where id = new.batch_id)',
  ),
];

const TRIGGERS: Readonly<Record<number, readonly string[]>> = {
  [INITIAL_VERSION]: INITIAL_TRIGGERS,
  [LANDINGS_VERSION]: LANDINGS_TRIGGERS,
  [PROJECTS_VERSION]: [...AUDIT_TRIGGERS, `update progress set lineage = '${FILE_LINEAGE}'`, ...ONE_PROJECT],
  [ENDED_BATCHES_VERSION]: ENDED_BATCHES_TRIGGERS,
};

export const SQLITE_SCHEMA: SchemaDialect = {
  integer: 'integer',
  bytes: 'blob',
  text: 'text',
  isJsonObject: (column) =>
    `check (case when json_valid(${column}) then json_type(${column}) = 'object' else 0 end)`,
  triggers: (version) => TRIGGERS[version] ?? [],
};
