/** Keeps the counts of the rate limits in a small SQLite file of their own, so that they survive a restart or a crash. */
import { chmodSync, closeSync, openSync } from 'node:fs';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { RateCount, RateCounts } from '../http/rate-limiter.js';

export interface OpenRateCounts extends RateCounts {
  close(): void;
}

const OWNER_ONLY = 0o600;
const BUSY_TIMEOUT_MS = 1_000;
/** Ended windows are deleted once in so many writes. */
const WRITES_BETWEEN_CLEANING = 1_000;

/** A commit need not survive a power cut, only the end of the process, so that it need not wait for the disk. */
const SETTINGS = ['journal_mode = WAL', 'synchronous = NORMAL'];

const SCHEMA =
  'create table if not exists rate_counts (key text primary key, points integer not null, expires_at_ms integer not null) without rowid';
const UPSERT =
  'insert into rate_counts (key, points, expires_at_ms) values (?, ?, ?) on conflict (key) do update set points = excluded.points, expires_at_ms = excluded.expires_at_ms';
const LOAD = 'select key, points, expires_at_ms as expiresAtMs from rate_counts where expires_at_ms > ?';
const CLEAN = 'delete from rate_counts where expires_at_ms <= ?';

/** Created for this user only, before SQLite would create it for all. */
function createFile(path: string): void {
  closeSync(openSync(path, 'a', OWNER_ONLY));
  chmodSync(path, OWNER_ONLY);
}

/**
 * Opens the file, creating it when missing; its directory must be there.
 * @throws `ERR_STORE_UNAVAILABLE` when it cannot be opened.
 */
export async function openRateCounts(path: string): Promise<OpenRateCounts> {
  try {
    const { default: Database } = await import('libsql');
    createFile(path);
    const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    for (const setting of SETTINGS) database.pragma(setting);
    database.exec(SCHEMA);
    const upsert = database.prepare(UPSERT);
    const load = database.prepare(LOAD);
    const clean = database.prepare(CLEAN);
    const write = database.transaction((counts: readonly RateCount[]) => {
      for (const { key, points, expiresAtMs } of counts) upsert.run(key, points, Math.ceil(expiresAtMs));
    });
    let writes = 0;
    return {
      load: (nowMs) => load.all(nowMs) as readonly RateCount[],
      save(counts, nowMs) {
        writes += 1;
        if (writes % WRITES_BETWEEN_CLEANING === 0) clean.run(nowMs);
        const [only] = counts;
        if (counts.length === 1 && only !== undefined) {
          upsert.run(only.key, only.points, Math.ceil(only.expiresAtMs));
        } else {
          write(counts);
        }
      },
      close: () => void database.close(),
    };
  } catch (cause) {
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `The rate limits in ${path} cannot be opened.`, {
      cause,
    });
  }
}
