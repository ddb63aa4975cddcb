/** Opens the store in a PostgreSQL database: its connections, what they insist on, its version. */
import pg from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { databasePlace } from '../../values/database-url.js';
import { type Clock, systemClock } from '../../values/time.js';
import { createKyselyStore } from '../kysely-store.js';
import { migrate, refuseOtherStore, STORE_VERSION } from '../migrations/index.js';
import type { Store } from '../store.js';
import { ServerClock } from './clock.js';
import { kyselyOver, PostgresDriver } from './driver.js';
import { toStoreError } from './errors.js';
import { POSTGRES_MOVES } from './moves.js';
import { createNumbers } from './numbers.js';
import { POSTGRES_SCHEMA } from './schema.js';
import { createWriters } from './writers.js';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`, as libpq takes it. */
  readonly url: string;
  /** Connections for reads. @default 4 */
  readonly readers?: number;
  /** Connections for writes, each of another project; one more gives out numbers. @default 4 */
  readonly writers?: number;
  /** For how long to wait for a connection or a lock. @default 5000 */
  readonly busyTimeoutMs?: number;
  /** Is the schema made and brought up to date, or has it to be there as this build knows it? @default 'update' */
  readonly schema?: 'update' | 'require';
  /** The highest block of the ledger that this process has seen. @default none */
  readonly ledgerHeight?: () => number;
  /** Of this machine; time is the server's, and this only says how long ago it was told. @default the system's */
  readonly clock?: Clock;
}

/** Types by their OID, where a value is read in another way than by default: what is kept in a bigint stays below 2^53. */
const BYTEA = 17;
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  [BYTEA]: (text) => Uint8Array.from(pg.types.getTypeParser(BYTEA, 'text')(text) as Buffer),
};

/** Of an answer that does not come in this time the way to the server is given up: it may be cut without a word. */
const QUERY_TIMEOUT_MS = 30_000;

/** The server ends a transaction that does nothing for so long, and gives back its lock: its process is stopped or gone. */
const MAX_IDLE_IN_TRANSACTION_MS = 30_000;

/**
 * What every connection insists on: a commit is on disk before it is answered, whatever the database is set to, and nobody
 * keeps the lock who does nothing.
 */
const SESSION = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');
  set idle_in_transaction_session_timeout = ${MAX_IDLE_IN_TRANSACTION_MS}`;

/** The address without what is secret in it. */
function placeOf(url: string): string {
  const place = databasePlace(url);
  if (place !== null) return place;
  throw new FlywheelError('ERR_CONFIG_INVALID', 'The address of the database is no URL: postgres://….');
}

function createPool(url: string, max: number, busyTimeoutMs: number, session = SESSION): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: 'flywheel',
    connectionTimeoutMillis: busyTimeoutMs,
    keepAlive: true,
    query_timeout: QUERY_TIMEOUT_MS,
    types: {
      getTypeParser: (oid, format) => PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
    },
    onConnect: async (client) => {
      await client.query(session);
    },
  });
  // A connection that ends while nobody has it is replaced when it is next needed.
  pool.on('error', () => undefined);
  return pool;
}

/** A database is shared: who only uses it does not change what others, of an older version, still work on. */
function refuseOlderSchema(version: number, place: string): void {
  if (version === STORE_VERSION) return;
  if (version === 0)
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `There is no flywheel in the database ${place}.`, {
      hint: 'Register one: `flywheel register`. Or unset what names the database.',
    });
  throw new FlywheelError(
    'ERR_STORE_UNAVAILABLE',
    `The store ${place} has version ${version}, and this build of flywheel needs version ${STORE_VERSION}.`,
    { hint: 'Bring it up to date: `flywheel db migrate`.' },
  );
}

/** The version as it stands, or 0. */
async function readVersion(pool: pg.Pool): Promise<number> {
  const { rows: tables } = await pool.query("select to_regclass('store_migrations') as name");
  if ((tables as { name: string | null }[])[0]?.name === null) return 0;
  const { rows } = await pool.query('select max(version) as version from store_migrations');
  return Number((rows as { version: number | null }[])[0]?.version ?? 0);
}

/**
 * Opens the store, and creates or updates it first when needed; of many processes that start at once one does so.
 *
 * @throws `ERR_STORE_UNAVAILABLE` when the server cannot be reached or cannot serve, or the store is of another build.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, readers = 4, busyTimeoutMs = 5_000, schema = 'update', ledgerHeight = () => 0 } = options;
  const clock = new ServerClock(options.clock ?? systemClock);
  const place = placeOf(url);
  const writers = createPool(url, options.writers ?? 4, busyTimeoutMs);
  const asking = createPool(url, 1, busyTimeoutMs, 'set synchronous_commit = off');
  const driver = new PostgresDriver({ pool: writers, asking, place, busyTimeoutMs, clock });
  try {
    const version = await readVersion(writers);
    refuseOtherStore(version, place);
    if (schema === 'require') refuseOlderSchema(version, place);
    else if (version < STORE_VERSION) await migrate(kyselyOver(driver), POSTGRES_SCHEMA, place);
  } catch (error) {
    await Promise.all([writers.end(), asking.end()]);
    throw toStoreError(error, place);
  }
  const reading = new PostgresDriver({
    pool: createPool(url, readers, busyTimeoutMs),
    asking,
    place,
    busyTimeoutMs,
    clock,
    readOnly: true,
  });
  const reader = kyselyOver(reading);
  let closed = false;
  return createKyselyStore({
    ledgerHeight,
    clock,
    moves: POSTGRES_MOVES,
    writer: createWriters(driver, { place, busyTimeoutMs }),
    numbers: createNumbers(asking, place),
    isShared: true,
    reader: () => reader,
    close: async () => {
      if (closed) return;
      closed = true;
      await reading.destroy();
      await driver.destroy();
      await asking.end();
    },
  });
}
