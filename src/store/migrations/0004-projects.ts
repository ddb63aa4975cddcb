/** What many projects in one database need: their names, the end of a key, who administered what, and history that was lost. */
import { isOneOf, isU64 } from './constraints.js';
import type { Migration, SchemaDialect } from './migration.js';

export const PROJECTS_VERSION = 5;

/** Which line of history the data was on when it was written last; on another one writes wait until all has expired that was sent on it. */
const lineage = ({ integer, text }: Pick<SchemaDialect, 'integer' | 'text'>): readonly string[] => [
  `alter table progress add column lineage ${text} not null default ''`,
  `alter table progress add column held_until ${integer} check (held_until is null or lineage <> '')`,
];

const AUDIT_ACTIONS = [
  ...['register', 'keys.create', 'keys.rotate', 'keys.revoke'],
  ...['gap.accept', 'copy', 'migrate'],
];

export const projectsSchema: Migration = {
  version: PROJECTS_VERSION,
  name: 'projects',
  statements: ({ integer, text, isJsonObject }) => [
    `alter table flywheels add column name ${text}`,
    'create unique index flywheels_name on flywheels (name) where name is not null',
    // What a data directory keeps in its configuration, except for the nodes.
    `alter table flywheels add column place ${text}`,
    `alter table api_keys add column date_expires ${text}`,
    `alter table api_keys add column rotated_from ${text} references api_keys (id) deferrable initially deferred`,
    // A key has one successor that is valid: a rotation whose answer was lost is found again.
    'create unique index api_keys_rotated on api_keys (rotated_from) where rotated_from is not null and date_revoked is null',
    `create table audit_log (
      ordinal ${integer} primary key check (ordinal > 0),
      token_id ${text} references tokens (id),
      actor ${text} not null,
      action ${text} not null ${isOneOf('action', AUDIT_ACTIONS)},
      subject ${text},
      detail ${text} not null ${isJsonObject('detail')},
      date_created ${text} not null)`,
    'create index audit_log_of_token on audit_log (token_id, ordinal)',
    "insert into counters (name, value) values ('audit', 0)",
    `create table gaps (
      id ${text} primary key,
      token_id ${text} not null references tokens (id),
      status ${text} not null ${isOneOf('status', ['OPEN', 'ACCEPTED'])},
      burns ${integer} not null check (burns >= 0),
      amount ${text} not null ${isU64('amount')},
      airdropped ${text} not null ${isU64('airdropped')},
      transactions ${integer} not null check (transactions >= burns),
      first_signature ${text} not null,
      last_signature ${text} not null,
      date_found ${text} not null,
      date_accepted ${text},
      check ((status = 'ACCEPTED') = (date_accepted is not null)))`,
    // Of each project no more than one gap is open.
    "create unique index gaps_open on gaps (token_id) where status = 'OPEN'",
    `create table gap_transactions (
      gap_id ${text} not null references gaps (id),
      position ${integer} not null check (position >= 0),
      signature ${text} not null unique,
      burned ${text} not null ${isU64('burned')},
      airdropped ${text} not null ${isU64('airdropped')},
      memo ${text},
      date_landed ${text},
      primary key (gap_id, position))`,
    // Of an account, the newest transaction up to which all was looked at: what others send to it is not looked at twice.
    `create table chain_marks (
      account ${text} primary key,
      token_id ${text} not null references tokens (id),
      signature ${text} not null)`,
    ...lineage({ integer, text }),
  ],
};
