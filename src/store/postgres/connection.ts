/** Connections to PostgreSQL: address, TLS options, timeouts, the driver that kysely uses, and what its errors mean. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
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
import { lockedTooLong, statementFailed, storeUnavailable } from '../errors.js';
import type { Tables } from '../schema.js';
import { RecordPlugin } from '../session.js';

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}

const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006';

/** SQLSTATE classes of a server that cannot serve now: connection, resources, operator intervention, system and internal errors. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58', 'XX']);
/** Single states with the same meaning: idle too long, deadlock, serialization failure, no database, login refused. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  '25P03',
  '25P04',
  '40P01',
  '40001',
  '3D000',
  '28P01',
  '28000',
]);

/** @returns whether the connection is unusable. Network errors have no SQLSTATE; the server closes the connection with some of its own. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  if (isFlywheelError(error)) return false;
  // After a failover a new connection may reach the new primary.
  // Every SQLSTATE has a digit; node's codes of the same length, such as EPIPE, have none.
  return !/^(?=.*\d)[0-9A-Z]{5}$/.test(code) || isReadOnly(error) || /^(?:08|57P0[1-5]|25P0[34])/.test(code);
}

const takesNoWrites = (place: string, cause?: unknown): FlywheelError =>
  storeUnavailable(place, 'accepts no writes', {
    hint: 'The database is a standby or read-only (`default_transaction_read_only`). Use the primary, or wait until this database accepts writes.',
    cause,
  });

const commitUnknown = (place: string, cause: unknown): FlywheelError =>
  storeUnavailable(place, 'was lost during a commit, whose outcome is unknown', {
    hint: 'Run the same command again when the database answers. Nothing happens twice.',
    cause,
  });

interface Lack {
  /** Completes "The database …" or "The store …". */
  readonly what: string;
  readonly hint: string;
}

/** Objects that are missing, or exist and belong to another program. The version was checked before, so the statement itself is right. */
const OTHER_OBJECTS: ReadonlySet<string> = new Set([
  ...['42P01', '42703', '42809', '3F000'],
  ...['42P06', '42P07', '42710', '42723', '42701'],
]);

/** Object names in the server's English messages. */
const REFUSED_OBJECT = /(?:permission denied for|must be owner of|policy for) (\w+) "?([^"]+)"?$/;
const OBJECT = /(relation|column|schema|trigger|function|table) "?([^" ]+)"? /;

const named = (error: unknown, names: RegExp): string | undefined => {
  const [, kind, name] = (error instanceof Error ? names.exec(error.message) : null) ?? [];
  return kind === undefined ? undefined : `${kind === 'relation' ? 'table' : kind} ${name}`;
};

/** @returns `undefined` if the error is not about rights, tables or TLS */
function lackOf(error: unknown): Lack | undefined {
  const code = codeOf(error);
  if (code === '42501')
    return {
      what: `does not grant its user the rights that flywheel needs${of(named(error, REFUSED_OBJECT))}`,
      hint: 'Make the user the owner of the schema, or grant `usage` on the schema and `select, insert, update, delete` on all its tables. Only the owner can create or migrate the schema.',
    };
  if (OTHER_OBJECTS.has(code))
    return {
      what: `has no flywheel tables in the search path of its user${of(named(error, OBJECT))}`,
      hint: "flywheel's schema must come first in the `search_path` of user and database, the user needs `usage` on it, and it must not have tables of another program with the same names: `create schema flywheel`, `alter role … set search_path = flywheel`.",
    };
  return tlsProblemOf(error);
}

const of = (object: string | undefined): string => (object === undefined ? '' : ` (${object})`);

/**
 * `ERR_STORE_UNAVAILABLE` if the server, its connection or its set-up failed, `ERR_INTERNAL` if a statement did. Server messages stay in
 * the cause: they may contain private data.
 */
function toStoreError(error: unknown, place: string): FlywheelError {
  if (isFlywheelError(error)) return error;
  if (isReadOnly(error)) return takesNoWrites(place, error);
  const lack = lackOf(error);
  if (lack !== undefined) return storeUnavailable(place, lack.what, { hint: lack.hint, cause: error });
  const code = codeOf(error);
  if (isBroken(error) || UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE.has(code))
    return storeUnavailable(place, 'cannot be reached, or is not ready', {
      hint: 'Check that PostgreSQL is running, that the address is right, and that its disk is not full.',
      cause: error,
    });
  // Class 23: integrity constraint violation; triggers raise it too.
  return statementFailed(codeOf(error).startsWith('23'), error);
}

/** Without sslmode nothing is encrypted. libpq's `allow` is missing: there the server decides whether to encrypt. */
const MODES: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const;
const OPTIONS: ReadonlySet<string> = new Set(['ssl', 'sslmode', 'sslnegotiation', ...FILES]);

const refused = (sentence: string, hint: string, cause?: unknown): FlywheelError =>
  new FlywheelError('ERR_CONFIG_INVALID', sentence, { hint, cause });

/** Unreadable or wrong files would fail on every connection. Errors name the option, not the path. */
function checkFiles(options: URLSearchParams): void {
  const named = FILES.filter((option) => options.has(option));
  try {
    const [ca, cert, key] = FILES.map((option) =>
      named.includes(option) ? readFileSync(options.get(option) ?? '') : undefined,
    );
    createSecureContext({ ca, cert, key });
  } catch (cause) {
    throw refused(
      `A file of ${named.join(', ')} in the database address cannot be read or has wrong content.`,
      'Use readable PEM files: the certificates, and the key of that certificate without a password.',
      cause,
    );
  }
}

/** A typo in a TLS option would silently change the protection. @throws `ERR_CONFIG_INVALID` */
function checkTlsOptions(options: URLSearchParams): void {
  for (const name of options.keys())
    if (name.startsWith('ssl') && !OPTIONS.has(name))
      throw refused(
        'The database address has an unknown TLS option.',
        `Known TLS options: ${[...OPTIONS].join(', ')}.`,
      );
  const mode = options.get('sslmode');
  if (mode !== null && !MODES.includes(mode))
    throw refused('The database address has an unknown sslmode.', `Known modes: ${MODES.join(', ')}.`);
  if (FILES.some((option) => options.has(option))) checkFiles(options);
  if (mode === 'verify-ca' && !options.has('sslrootcert'))
    throw refused(
      'sslmode=verify-ca in the database address needs sslrootcert.',
      'Set sslrootcert to the file of a certificate authority, or use sslmode=verify-full.',
    );
}

const NOT_BELIEVED =
  /^(?:CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
/** pg's message; it has no code. */
const WITHOUT_TLS = /does not support SSL connections/;

function tlsProblemOf(error: unknown): Lack | undefined {
  const code = codeOf(error);
  if (NOT_BELIEVED.test(code))
    return {
      what: `has a certificate that is not trusted (${code})`,
      hint: 'Set sslrootcert to the authority that signed the certificate, and use the host name of the certificate.',
    };
  if (code === '' && error instanceof Error && WITHOUT_TLS.test(error.message))
    return {
      what: 'does not offer TLS, but its address requires TLS',
      hint: 'Turn on `ssl` in the server. On a private network, removing sslmode from the address also works.',
    };
  return undefined;
}

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
  const code = codeOf(thrown);
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
    // lock_not_available: `lock_timeout` passed.
    if (codeOf(error) === '55P03') return lockedTooLong(place, busyTimeoutMs, 'another process', error);
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
