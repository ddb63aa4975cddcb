/** The schema in a PostgreSQL database: its version, migrations and status; and the registration lock. */
import { sql } from 'kysely';
import type pg from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import {
  APPLIED,
  type Applied,
  MIGRATIONS,
  migrate,
  type Refuse,
  STORE_LOCK,
  STORE_VERSION,
  VERSIONS,
  versionOf,
} from '../ddl.js';
import { createPool, kyselyOver, placeOf, toOpeningError, withPool } from './connection.js';

/** Long: another process may be migrating, and a large table takes time. */
const LOCK_TIMEOUT_MS = 600_000;

const refusalOf =
  (place: string): Refuse =>
  (what, hint = 'Use another database, or empty this one.') =>
    new FlywheelError('ERR_STORE_VERSION_MISMATCH', `The database ${place} ${what}.`, { hint });

/** @returns the schema version, or 0. @throws `ERR_STORE_VERSION_MISMATCH` for the schema of another or a newer build */
export async function readVersion(pool: pg.Pool, place: string): Promise<number> {
  const { rows } = await pool.query<{ isThere: boolean }>(
    `select to_regclass('${VERSIONS}') is not null as "isThere"`,
  );
  if (rows[0]?.isThere !== true) return 0;
  return versionOf('postgres', (await pool.query<Applied>(APPLIED)).rows, refusalOf(place));
}

/**
 * A database is shared: a schema that processes of an older version may still use is not migrated in passing.
 * @throws `ERR_STORE_VERSION_MISMATCH` for an older schema; `ERR_LOCAL_NOT_FOUND` for a missing one
 */
export function requireSchema(version: number, place: string): void {
  if (version === STORE_VERSION) return;
  if (version === 0)
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `No project in the database ${place}.`, {
      hint: 'Create a project with `flywheel register`, or unset the database address. If the database should have a project, check the `search_path` and rights of the user.',
    });
  throw refusalOf(place)(
    `has schema version ${version}, but this version of flywheel needs ${STORE_VERSION}`,
    'Upgrade it: `flywheel db migrate`',
  );
}

interface Upgrade {
  readonly from: number;
  readonly to: number;
  readonly applied: readonly string[];
}

/**
 * Creates or migrates the schema under the exclusive store lock; of several processes that start together, one does so.
 * @param isDryRun - only reports the migrations. @throws as {@link readVersion}, `ERR_STORE_UNAVAILABLE`
 */
export const upgradeStore = ({
  url,
  isDryRun = false,
}: {
  readonly url: string;
  readonly isDryRun?: boolean;
}): Promise<Upgrade> =>
  withPool(url, async (pool, place) => {
    const from = await readVersion(pool, place);
    if (!isDryRun && from < STORE_VERSION)
      await kyselyOver(pool, { place, busyTimeoutMs: LOCK_TIMEOUT_MS })
        .transaction()
        .execute(async (trx) => {
          const lock = `set local lock_timeout = ${LOCK_TIMEOUT_MS}; select pg_advisory_xact_lock(${STORE_LOCK})`;
          await sql.raw(`begin isolation level read committed; ${lock}`).execute(trx);
          await migrate(trx, 'postgres', refusalOf(place));
        });
    return { from, to: STORE_VERSION, applied: MIGRATIONS.slice(from).map(({ name }) => name) };
  });

const MAX_LISTED = 20;

const listOf = (query: string): string =>
  `(select coalesce(json_agg(listed), '[]') from (${query}) as listed)`;

const SERVER = `select json_build_object(
  'serverVersion', current_setting('server_version'),
  'sizes', json_build_object('bytes', pg_database_size(current_database()), 'tables', ${listOf(
    `select relname as name, greatest(reltuples, 0)::bigint as rows, pg_total_relation_size(oid) as bytes
      from pg_class where relkind in ('r', 'p') and relnamespace = to_regnamespace(current_schema()) order by bytes desc, name limit 8`,
  )}),
  'connections', (select json_build_object(
      'flywheel', count(*) filter (where application_name like 'flywheel%'), 'all', count(*), 'max', current_setting('max_connections')::int)
    from pg_stat_activity where backend_type = 'client backend')) as found`;

const HELD = `select holder, 1 as request, 0 as batch from requests where status = 'running' and lease_until_ms > now.ms
  union all select holder, 0, 1 from batches where lease_until_ms > now.ms`;

const CONTENT = `select json_build_object(
  'genesis', genesis, 'heldUntilBlock', held_until::numeric::text,
  'projects', json_build_object('count', (select count(*) from projects), 'first', ${listOf(
    `select name, symbol, mint_address as "mintAddress" from projects order by name nulls last, id limit ${MAX_LISTED}`,
  )}),
  'pending', json_build_object('burns', (select count(*) from burns where status = 'PENDING'),
    'batches', (select count(*) from batches where status in ('AVAILABLE_TO_QUEUE', 'FINALIZED'))),
  'holders', ${listOf(
    `select regexp_replace(holder, '/[^/]*$', '') as instance, sum(request) as requests, sum(batch) as batches
      from (${HELD}) as held where holder is not null group by instance order by instance limit ${MAX_LISTED}`,
  )},
  'openGaps', (select count(distinct token_id) from gap_transactions where date_accepted is null)) as found
  from progress, (select extract(epoch from clock_timestamp()) * 1000 as ms) as now`;

type Project = { readonly name: string | null; readonly symbol: string; readonly mintAddress: string };

interface Inspection {
  readonly serverVersion: string;
  readonly latencyMs: number;
  readonly schema: { readonly version: number; readonly needed: number; readonly upToDate: boolean };
  readonly genesis: string | null;
  readonly projects: { readonly count: number; readonly first: readonly Project[] };
  readonly sizes: {
    readonly bytes: number;
    readonly tables: readonly { readonly name: string; readonly rows: number; readonly bytes: number }[];
  };
  readonly connections: { readonly flywheel: number; readonly all: number; readonly max: number };
  readonly pending: { readonly burns: number; readonly batches: number };
  readonly holders: readonly {
    readonly instance: string;
    readonly requests: number;
    readonly batches: number;
  }[];
  readonly openGaps: number;
  /** Block height at which every transaction that another copy may have sent has expired and writes resume; `null`: no wait. */
  readonly heldUntilBlock: string | null;
}

const NO_CONTENT = {
  ...{ genesis: null, heldUntilBlock: null, projects: { count: 0, first: [] } },
  ...{ pending: { burns: 0, batches: 0 }, holders: [], openGaps: 0 },
};

/** @throws `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE` */
export const inspectStore = (url: string): Promise<Inspection> =>
  withPool(url, async (pool, place) => {
    const version = await readVersion(pool, place);
    const found = async (query: string) => (await pool.query<{ found: Inspection }>(query)).rows[0]?.found;
    const before = performance.now();
    const server = await found(SERVER);
    const latencyMs = Math.round((performance.now() - before) * 10) / 10;
    const isKnown = version === STORE_VERSION;
    const content = isKnown ? await found(CONTENT) : undefined;
    const schema = { version, needed: STORE_VERSION, upToDate: isKnown };
    return { ...NO_CONTENT, ...(server as Inspection), ...content, latencyMs, schema };
  });

const CONNECT_TIMEOUT_MS = 5_000;
/** A transaction lock, because a pooler may give each transaction another connection. */
const TAKE = `select pg_try_advisory_xact_lock(hashtextextended('flywheel registration', 0)) as taken`;

/** The server releases the lock with the connection. @throws `ERR_STORE_UNAVAILABLE` while another process has it */
export async function lockRegistrations(url: string): Promise<{ close(): Promise<void> }> {
  const place = placeOf(url);
  const pool = createPool(url, { max: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  let client: pg.PoolClient | undefined;
  const close = async (): Promise<void> => {
    client?.release(true);
    await pool.end();
  };
  try {
    client = await pool.connect();
    // A lost connection emits `error`, which would end the process. The caller checks the stored state again before it writes.
    client.on('error', () => undefined);
    await client.query('begin');
    const { rows } = await client.query<{ taken: boolean }>(TAKE);
    if (rows[0]?.taken === true) return { close };
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      'Another process is registering a project in this database. This command sent nothing.',
      { hint: 'Wait until that process ends. Then run the same command again.' },
    );
  } catch (error) {
    await close();
    throw toOpeningError(error, place);
  }
}
