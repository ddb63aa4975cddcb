/** The schema in a database and how it is doing: its version, how an older one is brought up to this build, what lies in it. */
import { sql } from 'kysely';
import type pg from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import {
  APPLIED,
  type Applied,
  MIGRATIONS,
  migrate,
  type Refuse,
  requireKnown,
  STORE_LOCK,
  STORE_VERSION,
  VERSIONS,
  versionOf,
} from '../ddl.js';
import { asAddressProblem, createPool, kyselyOver, placeOf, withPool } from './connection.js';
import { toStoreError } from './errors.js';

/** Another process may be at the same work, and a large table takes its time. */
const LOCK_TIMEOUT_MS = 600_000;

const refusalOf =
  (place: string): Refuse =>
  (what, hint = 'Use another database, or empty this one.') =>
    new FlywheelError('ERR_STORE_VERSION_MISMATCH', `The database ${place} ${what}.`, { hint });

/** The version as it stands, or 0. @throws `ERR_STORE_VERSION_MISMATCH` for the schema of another build. */
export async function readVersion(pool: pg.Pool, place: string): Promise<number> {
  const { rows } = await pool.query<{ isThere: boolean }>(
    `select to_regclass('${VERSIONS}') is not null as "isThere"`,
  );
  if (rows[0]?.isThere !== true) return 0;
  return versionOf('postgres', (await pool.query<Applied>(APPLIED)).rows, refusalOf(place));
}

/**
 * A database is shared: who only uses it does not change what others, of an older version, still work on.
 * @throws `ERR_STORE_VERSION_MISMATCH`, and `ERR_LOCAL_NOT_FOUND` where it is required and nothing is there.
 */
export function refuseOtherSchema(version: number, place: string, schema: 'update' | 'require'): void {
  requireKnown(version, refusalOf(place));
  if (version === STORE_VERSION || schema === 'update') return;
  if (version === 0)
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `No project in the database ${place}.`, {
      hint: 'Create a project with `flywheel register`, or unset the database address. If the database should have a project, check the `search_path` and rights of the user.',
    });
  throw refusalOf(place)(
    `has schema version ${version}, but this version of flywheel needs ${STORE_VERSION}`,
    'Upgrade it: `flywheel db migrate`',
  );
}

/** What an upgrade has done, or would do. */
interface Upgrade {
  readonly from: number;
  readonly to: number;
  /** Names of the migrations, in their order. */
  readonly applied: readonly string[];
}

/**
 * Makes the schema, or brings it up to date, under the lock of all who write; of many processes that start at once one does so.
 * @param isDryRun - only says what would be done. @throws as {@link refuseOtherSchema}, `ERR_STORE_UNAVAILABLE`
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
    refuseOtherSchema(from, place, 'update');
    if (!isDryRun && from < STORE_VERSION)
      await kyselyOver(pool, { place, busyTimeoutMs: LOCK_TIMEOUT_MS })
        .transaction()
        .setIsolationLevel('read committed')
        .execute(async (trx) => {
          await sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`).execute(trx);
          await sql.raw(`select pg_advisory_xact_lock(${STORE_LOCK})`).execute(trx);
          await migrate(trx, 'postgres', refusalOf(place));
        });
    return { from, to: STORE_VERSION, applied: MIGRATIONS.slice(from).map(({ name }) => name) };
  });

/** Numbers of a row by their names. */
type Row = Readonly<Record<string, unknown>>;

const MAX_LISTED = 20;

const STATUS = `select current_setting('server_version') as server_version, current_setting('max_connections')::int as max_connections,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as all_connections,
  (select count(*)::int from pg_stat_activity where application_name like 'flywheel%') as own_connections,
  pg_database_size(current_database())::float8 as bytes`;

const TABLES = `select relname as name, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid)::float8 as bytes
  from pg_class where relkind in ('r', 'p') and relnamespace = to_regnamespace(current_schema()) order by bytes desc, name limit 8`;

const CONTENT = `select (select genesis from progress) as genesis, (select held_until::numeric::text from progress) as held_until, (select count(*)::int from flywheels) as projects,
  (select count(*)::int from burns where status = 'PENDING') as burns,
  (select count(*)::int from batches where status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')) as batches,
  (select count(*)::int from gaps where status = 'OPEN') as gaps`;

const PROJECTS = `select flywheels.name, symbol, mint_address from flywheels join tokens on tokens.id = token_id
  order by flywheels.name nulls last, tokens.id limit ${MAX_LISTED}`;

const HOLDERS = `select regexp_replace(holder, '/[^/]*$', '') as instance, count(*) filter (where kind = 'request')::int as requests, count(*) filter (where kind = 'batch')::int as batches
  from (
    select holder, 'request' as kind from requests where status = 'running' and holder is not null and lease_until_ms > extract(epoch from clock_timestamp()) * 1000
    union all
    select holder, 'batch' from batches where holder is not null and lease_until_ms > extract(epoch from clock_timestamp()) * 1000
  ) as held group by instance order by instance limit ${MAX_LISTED}`;

/** What a look finds; nothing of content where there is no schema yet, or another one. */
export interface Inspection {
  readonly version: number;
  readonly needed: number;
  readonly latencyMs: number;
  readonly server: Row;
  readonly tables: readonly Row[];
  readonly content: {
    readonly counts: Row;
    readonly projects: readonly Row[];
    readonly holders: readonly Row[];
  } | null;
}

const rowsOf = async (pool: pg.Pool, text: string): Promise<readonly Row[]> =>
  (await pool.query<Row>(text)).rows;

/** @throws `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE` */
export const inspectStore = (url: string): Promise<Inspection> =>
  withPool(url, async (pool, place) => {
    const version = await readVersion(pool, place);
    const before = performance.now();
    const [server = {}] = await rowsOf(pool, STATUS);
    const latencyMs = performance.now() - before;
    const [counts] = version === STORE_VERSION ? await rowsOf(pool, CONTENT) : [];
    const content =
      counts === undefined
        ? null
        : { counts, projects: await rowsOf(pool, PROJECTS), holders: await rowsOf(pool, HOLDERS) };
    const tables = await rowsOf(pool, TABLES);
    return { version, needed: STORE_VERSION, latencyMs, server, content, tables };
  });

const CONNECT_TIMEOUT_MS = 5_000;
/** Of transactions, so that it works through a pooler as well. */
const TAKE = `select pg_try_advisory_xact_lock(hashtextextended('flywheel registration', 0)) as taken`;

/** @throws `ERR_STORE_UNAVAILABLE` while another has it; the server lets go of it with the connection. */
export async function lockRegistrations(url: string): Promise<{ close(): Promise<void> }> {
  const place = placeOf(url);
  const pool = createPool(url, 1, CONNECT_TIMEOUT_MS);
  try {
    const client = await pool.connect();
    // A connection that ends says so by an event, which would end the process: what is stored is looked at once more by then.
    client.on('error', () => undefined);
    const close = async (): Promise<void> => {
      client.release(true);
      await pool.end();
    };
    await client.query('begin');
    const { rows } = await client.query<{ taken: boolean }>(TAKE);
    if (rows[0]?.taken === true) return { close };
    await close();
  } catch (error) {
    throw toStoreError(asAddressProblem(error, place), place);
  }
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    'Another process is registering a project in this database. This command sent nothing.',
    { hint: 'Wait until that process ends. Then run the same command again.' },
  );
}
