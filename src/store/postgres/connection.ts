/** Connections to PostgreSQL: address, timeouts, and the driver that kysely uses. */

import {
  type Driver,
  Kysely,
  PostgresDialect,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import pg, { type Pool, type PoolClient } from 'pg';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { databasePlace } from '../../values/database-address.js';
import { toCell } from '../columns.js';
import { lockedTooLong, storeUnavailable } from '../errors.js';
import type { Tables } from '../schema.js';
import { RecordPlugin } from '../session.js';
import {
  checkTlsOptions,
  commitUnknown,
  isBroken,
  isLockTimeout,
  lackOf,
  takesNoWrites,
  toStoreError,
} from './errors.js';

/** The connection is given up after this time: a broken network path may never report an error. */
const QUERY_TIMEOUT_MS = 30_000;
/** Shorter than the client's timeout, so that the server gives up first and releases its locks. */
const STATEMENT_TIMEOUT_MS = 25_000;

/** The address without secrets. */
export function placeOf(url: string): string {
  const place = databasePlace(url);
  if (place !== null) return place;
  throw new FlywheelError('ERR_CONFIG_INVALID', 'The database address is not a URL. Expected postgres://….');
}

/** Gives TLS options the meaning that libpq documents; the driver's own defaults differ. @throws `ERR_CONFIG_INVALID` */
function libpqUrl(text: string): string {
  const url = new URL(text);
  const { searchParams: options } = url;
  // Node.js uses the system's certificates when no file is named.
  if (options.get('sslrootcert') === 'system') {
    options.delete('sslrootcert');
    options.set('sslmode', 'verify-full');
  }
  checkTlsOptions(options);
  if (options.has('sslmode') && !options.has('uselibpqcompat')) options.set('uselibpqcompat', 'true');
  return url.href;
}

/** Parsers by type OID that differ from the driver's. bigint columns stay below 2^53. */
const BYTEA = 17;
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  [BYTEA]: (text) => Uint8Array.from(pg.types.getTypeParser(BYTEA, 'text')(text) as Buffer),
};

/** The server ends a transaction that is idle for this time and releases its locks: its process is stopped or gone. */
const MAX_IDLE_IN_TRANSACTION_MS = 30_000;

const KEEP_MS = 60_000;

/** A commit is on disk before the server answers, whatever the database's setting, and an idle transaction does not keep locks. */
const SESSION = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');
  set idle_in_transaction_session_timeout = ${MAX_IDLE_IN_TRANSACTION_MS}`;

interface PoolTerms {
  readonly max: number;
  readonly connectTimeoutMs: number;
  /** Timeout of an answer; `null` for none, as schema changes need. @default 30,000 */
  readonly queryTimeoutMs?: number | null;
  readonly name?: string;
  readonly session?: string;
}

export function createPool(url: string, terms: PoolTerms): pg.Pool {
  const { max, connectTimeoutMs, queryTimeoutMs = QUERY_TIMEOUT_MS, name = 'flywheel' } = terms;
  const limit = queryTimeoutMs === null ? '' : `; set statement_timeout = ${STATEMENT_TIMEOUT_MS}`;
  const { session = SESSION + limit } = terms;
  const pool = new pg.Pool({
    connectionString: libpqUrl(url),
    max,
    application_name: name,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    idleTimeoutMillis: KEEP_MS,
    ...(queryTimeoutMs === null ? {} : { query_timeout: queryTimeoutMs }),
    types: {
      getTypeParser: (oid, format) => PARSERS[oid] ?? pg.types.getTypeParser(oid, format as 'text'),
    },
    onConnect: async (client) => {
      await client.query(session);
    },
  });
  // An idle connection may end; the pool replaces it when needed.
  pool.on('error', () => undefined);
  return pool;
}

/** For an error on opening: `ERR_CONFIG_INVALID` if the address or the database's set-up is at fault, else as {@link toStoreError}. */
export function toOpeningError(error: unknown, place: string): FlywheelError {
  const thrown = isFlywheelError(error, 'ERR_STORE_UNAVAILABLE') ? error.cause : error;
  const code = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined;
  const refuse = (sentence: string, hint: string): FlywheelError =>
    new FlywheelError('ERR_CONFIG_INVALID', sentence, { cause: thrown, hint });
  if (code === '28P01' || code === '28000')
    return refuse(
      `The database ${place} refuses the user or the password.`,
      'Nothing was changed. Check the user, the password and pg_hba.conf.',
    );
  if (code === '3D000')
    return refuse(`The database ${place} does not exist.`, 'Create it: `createdb`, or `create database …`.');
  const lack = lackOf(thrown);
  if (lack !== undefined) return refuse(`The database ${place} ${lack.what}.`, lack.hint);
  return toStoreError(error, place);
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Runs `work` on one connection outside of a store. @throws `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE` */
export async function withPool<Result>(
  url: string,
  work: (pool: pg.Pool, place: string) => Promise<Result>,
): Promise<Result> {
  const place = placeOf(url);
  const pool = createPool(url, { max: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS, queryTimeoutMs: null });
  try {
    return await work(pool, place);
  } catch (error) {
    throw toOpeningError(error, place);
  } finally {
    await pool.end();
  }
}

interface ClientTerms {
  readonly place: string;
  readonly busyTimeoutMs: number;
  /** Refuse reads as well on a database that accepts no writes: a standby's data may be old. */
  readonly mustWrite?: boolean;
}

class StoreClient implements Pick<PostgresPoolClient, 'release'> {
  #isBroken = false;
  readonly #onError = (): void => {
    this.#isBroken = true;
  };

  constructor(
    private readonly client: PoolClient,
    private readonly terms: ClientTerms,
  ) {
    // An idle client that loses its connection emits an `error` event, which would end the process.
    client.on('error', this.#onError);
  }

  release(): void {
    this.client.off('error', this.#onError);
    this.client.release(this.#isBroken);
  }

  async query<Result>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Result>> {
    // The server rolls back when the connection ends.
    if (sql === 'rollback' && this.#isBroken) return { command: 'ROLLBACK', rowCount: 0, rows: [] } as never;
    const { place } = this.terms;
    try {
      // Several statements without parameters have several results.
      const result = [await this.client.query(sql, parameters.map(toCell))].flat().at(-1) as pg.QueryResult;
      // PostgreSQL answers ROLLBACK to a commit of a transaction in which a statement failed, even if the failure was caught.
      if (sql === 'commit' && result.command === 'ROLLBACK')
        throw storeUnavailable(place, 'rolled the transaction back after an earlier failure');
      // A standby or read-only database. The connection is dropped, so that the next one may reach the primary.
      if (this.terms.mustWrite === true && result.rows[0]?.refuses === true) {
        this.#isBroken = true;
        throw takesNoWrites(place);
      }
      return result as unknown as PostgresQueryResult<Result>;
    } catch (error) {
      throw this.#translated(error, sql);
    }
  }

  #translated(error: unknown, sql: string): FlywheelError {
    const { place, busyTimeoutMs } = this.terms;
    const isLost = isBroken(error);
    this.#isBroken ||= isLost;
    // The commit may have been stored or not. The caller finds out under the request's idempotency key.
    if (sql === 'commit' && isLost) return commitUnknown(place, error);
    if (isLockTimeout(error)) return lockedTooLong(place, busyTimeoutMs, 'another process', error);
    return toStoreError(error, place);
  }
}

/** The first statement of a transaction begins it, which saves a round trip. */
class StoreDialect extends PostgresDialect {
  override createDriver(): Driver {
    const driver = super.createDriver();
    driver.beginTransaction = async () => undefined;
    return driver;
  }
}

export const kyselyOver = (pool: Pool, terms: ClientTerms): Kysely<Tables> =>
  new Kysely({
    dialect: new StoreDialect({
      pool: {
        connect: async () => {
          try {
            return new StoreClient(await pool.connect(), terms) as unknown as PostgresPoolClient;
          } catch (error) {
            throw toStoreError(error, terms.place);
          }
        },
        end: () => pool.end(),
      },
    }),
    plugins: [new RecordPlugin()],
  });
