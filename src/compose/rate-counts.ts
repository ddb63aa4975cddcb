/**
 * Counts requests for the rate limits in a small SQLite file of their own: one row a key and operation, one statement a
 * request. Several servers may share it; a restart or a crash forgets nothing.
 *
 * A row holds the theoretical arrival time of the generic cell rate algorithm: when all points will be there again.
 */
import { openSqliteFile, type SqliteFile } from '../files/sqlite-file.js';
import type { RateCounts } from '../http/rate-limiter.js';
import type { Clock } from '../values/time.js';

/** Counts in a file. */
export interface OpenRateCounts extends RateCounts {
  close(): void;
}

const US_PER_MS = 1_000;
/** Rows without meaning are deleted once in so many turns. */
const TURNS_BETWEEN_CLEANING = 1_000;

/** A commit need not survive a power cut, only the end of the process, so that it need not wait for the disk. */
const SETTINGS = 'pragma synchronous = normal; pragma busy_timeout = 1000';

const SCHEMA = `
  drop table if exists rate_counts;
  create table if not exists arrivals (key text primary key, whole_at_us integer not null, allowed integer not null) without rowid`;

/**
 * ?1 is the key, ?2 now, ?3 the time in which one point comes back, ?4 that of all. Points never lie further ahead than that:
 * a clock that was set back does not lock a key out for as long as it went back. A refusal writes as well, or the same row
 * would be judged by the clock of then again and again.
 */
const AHEAD = 'max(min(whole_at_us, ?2 + ?4), ?2)';
const FITS = `${AHEAD} + ?3 <= ?2 + ?4`;
const TAKE = `
  insert into arrivals (key, whole_at_us, allowed) values (?1, ?2 + ?3, 1)
  on conflict (key) do update set allowed = ${FITS}, whole_at_us = iif(${FITS}, ${AHEAD} + ?3, ${AHEAD})
  returning whole_at_us, allowed`;
const CLEAN = 'delete from arrivals where whole_at_us <= ?1';

/**
 * Opens the file, creating it when missing; its directory must be there.
 * @throws `ERR_STORE_UNAVAILABLE` when it cannot be opened.
 */
export async function openRateCounts(path: string, clock: Clock): Promise<OpenRateCounts> {
  const file = await openSqliteFile({
    path,
    noun: 'rate limits',
    readOnly: false,
    create: true,
    inspect: () => undefined,
  });
  try {
    file.exec(SETTINGS);
    file.exec(SCHEMA);
    return countsIn(file, clock);
  } catch (error) {
    file.close();
    throw error;
  }
}

function countsIn(file: SqliteFile, clock: Clock): OpenRateCounts {
  const [take, clean] = [file.prepare(TAKE), file.prepare(CLEAN)];
  let turns = 0;
  return {
    take: (requests) =>
      file.write(() => {
        // Read under the lock: what another server has counted was counted before.
        const now = Math.round(clock.nowMs() * US_PER_MS);
        turns += 1;
        if (turns % TURNS_BETWEEN_CLEANING === 0) clean.run([now]);
        return requests.map(({ key, intervalUs, periodUs }) => {
          const [wholeAtUs, allowed] = take.get([key, now, intervalUs, periodUs]) ?? [];
          return { allowed: allowed === 1, wholeAfterUs: Number(wholeAtUs) - now };
        });
      }),
    close: () => file.close(),
  };
}
