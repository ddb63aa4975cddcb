/** Keeps the counts of the rate limiter across restarts, in a small SQLite file of their own. */
import { FlywheelError } from '../errors/flywheel-error.js';
import type { RateCount, RateCounts } from '../http/rate-limiter.js';

interface Row {
  readonly key: string;
  readonly points: number;
  readonly expires_at_ms: number;
}

/** @throws `ERR_STORE_UNAVAILABLE` when the file cannot be used. */
export async function openRateCounts(path: string): Promise<RateCounts & { close(): void }> {
  const { default: Database } = await import('libsql');
  try {
    const database = new Database(path, { timeout: 1_000 });
    // Counts may be a moment old after a power cut, not after a crash of the process; that needs no sync to disk.
    for (const pragma of ['journal_mode = WAL', 'synchronous = OFF'])
      database.prepare(`pragma ${pragma}`).all();
    database.exec(
      'create table if not exists counts (key text primary key, points integer not null, expires_at_ms integer not null)',
    );
    const select = database.prepare('select key, points, expires_at_ms from counts where expires_at_ms > ?');
    const upsert = database.prepare(
      'insert or replace into counts (key, points, expires_at_ms) values (?, ?, ?)',
    );
    const forget = database.prepare('delete from counts where expires_at_ms <= ?');
    return {
      load: (nowMs) =>
        (select.all(nowMs) as Row[]).map(
          (row): RateCount => ({ key: row.key, points: row.points, expiresAtMs: row.expires_at_ms }),
        ),
      save: database.transaction((counts: readonly RateCount[], nowMs: number) => {
        forget.run(nowMs);
        for (const { key, points, expiresAtMs } of counts) upsert.run(key, points, Math.ceil(expiresAtMs));
      }),
      close: () => database.close(),
    };
  } catch (cause) {
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${path}: the counts of the rate limit cannot be kept there.`,
      { cause },
    );
  }
}
