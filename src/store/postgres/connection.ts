/** What every connection to a database has in common: how its address is read, for how long anything may take, and what kysely is given. */

import { Kysely, PostgresDialect, type PostgresPoolClient, type PostgresQueryResult } from 'kysely';
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

/** Of an answer that does not come in this time the way to the server is given up: it may be cut without a word. */
const QUERY_TIMEOUT_MS = 30_000;
/** The server gives up before, and its locks with it. */
const STATEMENT_TIMEOUT_MS = 25_000;

/** The address without what is secret in it. */
export function placeOf(url: string): string {
  const place = databasePlace(url);
  if (place !== null) return place;
  throw new FlywheelError('ERR_CONFIG_INVALID', 'The database address is not a URL. Expected postgres://….');
}

/** The address with the options of libpq in the meaning that they have there; what the driver made of them differed, and will again. @throws `ERR_CONFIG_INVALID` */
function libpqUrl(text: string): string {
  const url = new URL(text);
  const { searchParams: options } = url;
  // The certificates of the system are what is used without others.
  if (options.get('sslrootcert') === 'system') {
    options.delete('sslrootcert');
    options.set('sslmode', 'verify-full');
  }
  checkTlsOptions(options);
  if (options.has('sslmode') && !options.has('uselibpqcompat')) options.set('uselibpqcompat', 'true');
  return url.href;
}

/** Types by their OID, where a value is read in another way than by default: what is kept in a bigint stays below 2^53. */
const BYTEA = 17;
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  [BYTEA]: (text) => Uint8Array.from(pg.types.getTypeParser(BYTEA, 'text')(text) as Buffer),
};

/** The server ends a transaction that does nothing for so long, and gives back its lock: its process is stopped or gone. */
const MAX_IDLE_IN_TRANSACTION_MS = 30_000;

/** A connection that nobody has is kept for so long, which is longer than a server ever rests: to begin one is dear. */
const KEEP_MS = 60_000;

/**
 * What every connection insists on: a commit is on disk before it is answered, whatever the database is set to, and nobody
 * keeps the lock who does nothing.
 */
const SESSION = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');
  set idle_in_transaction_session_timeout = ${MAX_IDLE_IN_TRANSACTION_MS}`;

interface PoolTerms {
  readonly max: number;
  readonly connectTimeoutMs: number;
  /** Of an answer; `null`: a statement may take as long as it takes, as changes of the schema do. @default 30,000 */
  readonly queryTimeoutMs?: number | null;
  /** As the server lists it. @default flywheel */
  readonly name?: string;
  /** Statements with which each connection begins. @default those of a store */
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
  // A connection that ends while nobody has it is replaced when it is next needed.
  pool.on('error', () => undefined);
  return pool;
}

/** What the address itself, or how the database is set up, is at fault for, as that; everything else as it is. */
export function asAddressProblem(error: unknown, place: string): unknown {
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
  return lack === undefined ? error : refuse(`The database ${place} ${lack.what}.`, lack.hint);
}

const CONNECT_TIMEOUT_MS = 5_000;

/** Work on one connection, outside of a store. @throws `ERR_CONFIG_INVALID`, `ERR_STORE_UNAVAILABLE` */
export async function withPool<Result>(
  url: string,
  work: (pool: pg.Pool, place: string) => Promise<Result>,
): Promise<Result> {
  const place = placeOf(url);
  const pool = createPool(url, { max: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS, queryTimeoutMs: null });
  try {
    return await work(pool, place);
  } catch (error) {
    throw toStoreError(asAddressProblem(error, place), place);
  } finally {
    await pool.end();
  }
}

interface ClientTerms {
  /** Named in errors; without secrets. */
  readonly place: string;
  readonly busyTimeoutMs: number;
  /** Is nothing read either of a database that takes no writes? What a standby says may be old. */
  readonly mustWrite?: boolean;
}

class StoreClient implements Pick<PostgresPoolClient, 'release'> {
  readonly #client: PoolClient;
  readonly #terms: ClientTerms;
  #isBroken = false;
  readonly #onError = (): void => {
    this.#isBroken = true;
  };

  constructor(client: PoolClient, terms: ClientTerms) {
    this.#client = client;
    this.#terms = terms;
    // A connection that ends while nothing is asked on it says so by an event, which would end the process.
    client.on('error', this.#onError);
  }

  release(): void {
    this.#client.off('error', this.#onError);
    this.#client.release(this.#isBroken);
  }

  async query<Result>(sql: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<Result>> {
    // Without its connection the server rolls back by itself.
    if (sql === 'rollback' && this.#isBroken) return { command: 'ROLLBACK', rowCount: 0, rows: [] } as never;
    const { place } = this.#terms;
    try {
      const result = await this.#client.query(sql, parameters.map(toCell));
      // What failed before within the transaction has undone it, whether or not somebody has caught that failure.
      if (sql === 'commit' && result.command === 'ROLLBACK')
        throw storeUnavailable(place, 'rolled the transaction back after an earlier failure');
      // A standby, or set to be read only: the connection that was told so is not used again.
      if (this.#terms.mustWrite === true && result.rows[0]?.refuses === true) {
        this.#isBroken = true;
        throw takesNoWrites(place);
      }
      return result as unknown as PostgresQueryResult<Result>;
    } catch (error) {
      throw this.#translated(error, sql);
    }
  }

  #translated(error: unknown, sql: string): FlywheelError {
    const { place, busyTimeoutMs } = this.#terms;
    const isLost = isBroken(error);
    this.#isBroken ||= isLost;
    // It may be stored or not: whoever wrote it finds out under the key of the request.
    if (sql === 'commit' && isLost) return commitUnknown(place, error);
    if (isLockTimeout(error)) return lockedTooLong(place, busyTimeoutMs, 'another process', error);
    return toStoreError(error, place);
  }
}

export const kyselyOver = (pool: Pool, terms: ClientTerms): Kysely<Tables> =>
  new Kysely({
    dialect: new PostgresDialect({
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
