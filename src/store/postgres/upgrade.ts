/** The version of the schema in a database: what this build works on, and how an older one is brought up to it. */
import { sql } from 'kysely';
import type pg from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { STORE_LOCK, VERSIONS } from '../ddl.js';
import {
  APPLIED,
  type Applied,
  MIGRATIONS,
  migrate,
  type Refuse,
  requireKnown,
  STORE_VERSION,
  versionOf,
} from '../migrations.js';
import { kyselyOver } from './client.js';
import { withPool } from './connection.js';

/** Another process may be at the same work, and a large table takes its time. */
const LOCK_TIMEOUT_MS = 600_000;

const refusalOf =
  (place: string): Refuse =>
  (what, hint = 'Name another database, or empty this one.') =>
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
      hint: 'Create one with `flywheel register`, or unset the database address. If there should be one, check `search_path` and rights of the user.',
    });
  throw refusalOf(place)(
    `has schema version ${version}, but this version of flywheel needs ${STORE_VERSION}`,
    'Upgrade it: `flywheel db migrate`',
  );
}

/** What an upgrade has done, or would do. */
export interface Upgrade {
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
