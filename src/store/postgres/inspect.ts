/** Looks at a database from outside of the store: how it is doing. */
import type pg from 'pg';
import { STORE_VERSION } from '../migrations.js';
import { withPool } from './connection.js';
import { readVersion } from './upgrade.js';

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
