/** The version of the schema in a database: what this build works on, and how an older one is brought up to it. */
import type pg from 'pg';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { systemClock } from '../../values/time.js';
import { INITIAL_VERSION } from '../migrations/0001-initial.js';
import { MIGRATIONS, migrate, STORE_VERSION } from '../migrations/index.js';
import { ServerClock } from './clock.js';
import { asAddressProblem, createPool, placeOf } from './connection.js';
import { kyselyOver, PostgresDriver } from './driver.js';
import { toStoreError } from './errors.js';
import { POSTGRES_SCHEMA } from './schema.js';

/** Another process may be at the same work, and a large table takes its time. */
const LOCK_TIMEOUT_MS = 600_000;
const CONNECT_TIMEOUT_MS = 5_000;

/** The version as it stands, or 0. */
export async function readVersion(pool: pg.Pool): Promise<number> {
  const { rows: tables } = await pool.query("select to_regclass('store_migrations') as name");
  if ((tables as { name: string | null }[])[0]?.name === null) return 0;
  const { rows } = await pool.query('select max(version) as version from store_migrations');
  return Number((rows as { version: number | null }[])[0]?.version ?? 0);
}

const mismatch = (message: string, hint: string): FlywheelError =>
  new FlywheelError('ERR_STORE_VERSION_MISMATCH', message, { hint });

/**
 * A database is shared: who only uses it does not change what others, of an older version, still work on.
 * @throws `ERR_STORE_VERSION_MISMATCH`, and `ERR_LOCAL_NOT_FOUND` where it is required and nothing is there.
 */
export function refuseOtherSchema(version: number, place: string, schema: 'update' | 'require'): void {
  if (version > STORE_VERSION || (version > 0 && version < INITIAL_VERSION))
    throw mismatch(
      `The database ${place} has schema version ${version}; this build of flywheel knows versions up to ${STORE_VERSION}.`,
      'Use the version of flywheel that wrote it, or a newer one.',
    );
  if (version === STORE_VERSION || schema === 'update') return;
  if (version === 0)
    throw new FlywheelError('ERR_LOCAL_NOT_FOUND', `There is no flywheel in the database ${place}.`, {
      hint: 'Register one: `flywheel register`. Or unset what names the database. If there is one: does `search_path` of its user lead to its schema, and may the user use that?',
    });
  throw mismatch(
    `The database ${place} has schema version ${version}, and this build of flywheel needs ${STORE_VERSION}.`,
    'Bring it up to date: `flywheel db migrate`.',
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
export async function upgradeStore({
  url,
  isDryRun = false,
}: {
  readonly url: string;
  readonly isDryRun?: boolean;
}): Promise<Upgrade> {
  const place = placeOf(url);
  const pool = createPool(url, 2, CONNECT_TIMEOUT_MS, { isPatient: true });
  try {
    const from = await readVersion(pool);
    refuseOtherSchema(from, place, 'update');
    const missing = MIGRATIONS.filter(({ version }) => version > from);
    if (!isDryRun && missing.length > 0) {
      const clock = new ServerClock(systemClock);
      const driver = new PostgresDriver({ pool, asking: pool, place, busyTimeoutMs: LOCK_TIMEOUT_MS, clock });
      await migrate(kyselyOver(driver), POSTGRES_SCHEMA, place);
    }
    return { from, to: STORE_VERSION, applied: missing.map(({ name }) => name) };
  } catch (error) {
    throw toStoreError(asAddressProblem(error, place), place);
  } finally {
    await pool.end();
  }
}
