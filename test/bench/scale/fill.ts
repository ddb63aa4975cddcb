/**
 * Fills a database with the history of many projects: copies of what one real project has left there, under names of their own.
 * Rules that watch how rows come to be are off meanwhile; every constraint of a table holds.
 */
import type pg from 'pg';

export interface Amounts {
  readonly projects: number;
  readonly burns: number;
  readonly batches: number;
}

/** Rows of one table, numbered below those that the service makes: each a copy of one that is there, with what is said of the i-th. */
const copies = (table: string, like: string, count: number, values: string): string => `
  insert into ${table} select copy.*
  from (select ${table} from ${table} where ${like} limit 1) as source (one), generate_series(1, ${count}) i,
    lateral jsonb_populate_record(one, jsonb_build_object(${values})) copy`;

/** Of the i-th project; the first keeps half of everything, as the largest customer does. */
const PROJECT = "case when i % 2 = 0 then 'x1' else 'x' || (1 + (i / 2) % %PROJECTS%) end";
const DATE = `to_char(timestamp '2024-11-01' + i * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** A signature's length, and as random as one. */
const RANDOM_SIGNATURE = "substr(md5(i::text || 'a') || md5(i::text || 'b') || md5(i::text || 'c'), 1, 88)";
const RANDOM_HASH = "md5(i::text) || md5(i::text || 'p')";

function statements({ projects, burns, batches }: Amounts): readonly string[] {
  const project = PROJECT.replace('%PROJECTS%', String(projects));
  const requests = burns;
  return [
    "set session_replication_role = 'replica'",
    copies('tokens', "burn_wallet <> ''", projects, "'id', 'x' || i, 'mint_address', 'mint-' || i"),
    copies(
      'flywheels',
      'owner is not null',
      projects,
      "'id', 'x' || i, 'token_id', 'x' || i, 'multisig', 'multisig-' || i, 'name', 'project-' || i",
    ),
    copies(
      'api_keys',
      'date_revoked is null',
      2 * projects,
      `'id', 'x' || i, 'token_id', 'x' || (1 + i % ${projects}), 'hash', ${RANDOM_HASH}`,
    ),
    copies(
      'requests',
      "operation = 'burn' and status = 'done'",
      requests,
      `'id', 'r' || i, 'token_id', ${project}, 'key_id', 'x1', 'value', ${RANDOM_HASH}, 'date_created', ${DATE}`,
    ),
    copies(
      'burns',
      "status = 'FINAL'",
      burns,
      `'sequence', i - ${burns + 1}, 'request_id', 'r' || i, 'token_id', ${project}, 'key_id', 'x1',
       'proof_hash', ${RANDOM_HASH}, 'signature', ${RANDOM_SIGNATURE}, 'date_created', ${DATE}, 'date_settled', ${DATE}`,
    ),
    copies(
      'batches',
      "status = 'EXECUTED'",
      batches,
      `'id', 'b' || i, 'ordinal', i - ${batches + 1}, 'token_id', ${project}, 'flywheel_id', ${project}, 'key_id', 'x1',
       'request_id', 'rb' || i, 'batch_index', lpad(i::text, 20, '0'), 'date_created', ${DATE},
       'date_updated', ${DATE}, 'date_closed', ${DATE}`,
    ),
    copies('pipelines', 'position = 0', batches, `'batch_id', 'b' || i, 'token_id', ${project}`),
    copies(
      'bundles',
      "status = 'LANDED'",
      3 * batches,
      `'id', 'u' || i, 'ordinal', i - ${3 * batches + 1}, 'batch_id', 'b' || (1 + i / 3), 'first', i % 3, 'bundle_id', ${RANDOM_HASH}`,
    ),
    copies(
      'bundle_transactions',
      'true',
      3 * batches,
      `'bundle', 'u' || i, 'position', 0, 'signature', ${RANDOM_SIGNATURE} || 'u'`,
    ),
    "set session_replication_role = 'origin'",
    'vacuum analyze',
  ];
}

/** @param client - of a user who may turn rules off. */
export async function fill(client: pg.Client, amounts: Amounts): Promise<void> {
  for (const statement of statements(amounts)) await client.query(statement);
}
