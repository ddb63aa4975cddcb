/** Looks at a database from outside of the store: how it is doing, and what its constraints cannot state. */
import type pg from 'pg';
import { STORE_VERSION } from '../migrations.js';
import { asAddressProblem, createPool, placeOf } from './connection.js';
import { toStoreError } from './errors.js';
import { readVersion } from './upgrade.js';

/** Numbers of a row by their names. */
type Row = Readonly<Record<string, unknown>>;

const MAX_LISTED = 20;
const CONNECT_TIMEOUT_MS = 5_000;

/** What a rule that all rows keep is called, and the statement that counts those that do not. */
interface Rule {
  readonly name: string;
  readonly text: string;
}

const RULES: readonly Rule[] = [
  {
    name: 'caps',
    text: `select count(*) as wrong from daily_usage
      join flywheels on flywheels.token_id = daily_usage.token_id
      where landed > case kind when 'burn' then daily_burn_cap else daily_airdrop_cap end`,
  },
  {
    name: 'sums',
    // Burns of batches count as well, so there may be more than the sum of the single ones, and never less. Over all days: a
    // burn may land later than on the day that it was asked for.
    text: `select count(*) as wrong from (
        select token_id, sum(amount::numeric) as amount from burns where status = 'SUCCESS' group by token_id
      ) as burned
      where amount > (select coalesce(sum(landed::numeric), 0) from daily_usage where daily_usage.token_id = burned.token_id and kind = 'burn')`,
  },
  {
    name: 'one project',
    // Keys, flywheels and holds are held to it by references; a request may be forgotten before what it has made.
    text: `select (select count(*) from burns join requests on requests.id = burns.request_id where requests.token_id <> burns.token_id)
      + (select count(*) from batches join requests on requests.id = batches.request_id where requests.token_id <> batches.token_id) as wrong`,
  },
  {
    name: 'signatures',
    text: `select count(*) as wrong from burns join bundle_transactions on bundle_transactions.signature = burns.signature`,
  },
  {
    name: 'answers',
    text: `select count(*) as wrong from requests where status = 'done'
      and exists (select 1 from burns where burns.request_id = requests.id and burns.status = 'PENDING')`,
  },
  {
    name: 'batches',
    text: `select count(*) as wrong from batches where status = 'EXECUTED'
      and exists (select 1 from bundles where bundles.batch_id = batches.id and bundles.phase = 'EXECUTE' and bundles.status = 'PENDING')`,
  },
];

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

async function withPool<Result>(url: string, work: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const place = placeOf(url);
  const pool = createPool(url, 1, CONNECT_TIMEOUT_MS, { isPatient: true });
  try {
    return await work(pool);
  } catch (error) {
    throw toStoreError(asAddressProblem(error, place), place);
  } finally {
    await pool.end();
  }
}

const rowsOf = async (pool: pg.Pool, text: string): Promise<readonly Row[]> =>
  (await pool.query<Row>(text)).rows;

/** @throws `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE` */
export const inspectStore = (url: string): Promise<Inspection> =>
  withPool(url, async (pool) => {
    const version = await readVersion(pool, placeOf(url));
    const before = performance.now();
    const [server = {}] = await rowsOf(pool, STATUS);
    const latencyMs = performance.now() - before;
    const [counts] = version === STORE_VERSION ? await rowsOf(pool, CONTENT) : [];
    const content =
      counts === undefined
        ? null
        : { counts, projects: await rowsOf(pool, PROJECTS), holders: await rowsOf(pool, HOLDERS) };
    return {
      ...{ version, needed: STORE_VERSION, latencyMs, server, content },
      tables: await rowsOf(pool, TABLES),
    };
  });

/** A rule, and how many rows break it. */
export interface Broken {
  readonly name: string;
  readonly wrong: number;
}

/** Holds every row to every rule. @throws as {@link inspectStore} */
export const checkStore = (url: string): Promise<readonly Broken[]> =>
  withPool(url, async (pool) => {
    const found: Broken[] = [];
    for (const { name, text } of RULES) {
      const [row] = await rowsOf(pool, text);
      found.push({ name, wrong: Number(row?.['wrong']) });
    }
    return found;
  });

/** Base units that have been burned, by the id of the token. @throws as {@link inspectStore} */
export const burnedByToken = (url: string): Promise<ReadonlyMap<string, bigint>> =>
  withPool(url, async (pool) => {
    const text =
      "select token_id, sum(landed::numeric)::text as burned from daily_usage where kind = 'burn' group by token_id";
    const rows = await rowsOf(pool, text);
    return new Map(rows.map(({ token_id, burned }) => [String(token_id), BigInt(String(burned))]));
  });
