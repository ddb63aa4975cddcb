/**
 * Rate-limit counters in the database, one for each API key and limit, shared by all servers and timed by the database's clock.
 * A row holds the theoretical arrival time of the generic cell rate algorithm (GCRA): the time when all points are back. Commits are
 * asynchronous: after a crash the last fraction of a second is forgotten. The counters have their own connection for that, and
 * must not wait behind transactions that move money.
 */
import type { RateCounts } from '../../contract/served-engine.js';
import { invariant } from '../../errors/flywheel-error.js';
import { createPool } from './connection.js';

interface PostgresRateCountsOptions {
  readonly url: string;
  /** A request that cannot be counted in this time is refused. @default 2000 */
  readonly timeoutMs?: number;
}

/** Only this connection: it writes nothing else. */
const SESSION = 'set synchronous_commit = off';

/** $1 key, $2 microseconds until one point returns, $3 microseconds until all return. The stored time is capped at one period ahead. */
const AHEAD =
  'greatest(least(known.whole_at_us, excluded.counted_at_us + excluded.period_us), excluded.counted_at_us)';
const FITTING = `least(1, (excluded.counted_at_us + excluded.period_us - ${AHEAD}) / excluded.interval_us)`;
const TAKE = `
  insert into rate_counts as known (key, whole_at_us, allowed, counted_at_us, interval_us, period_us)
  select $1::text, now.us + $2::bigint, 1, now.us, $2::bigint, $3::bigint
  from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) as now
  on conflict (key) do update set allowed = ${FITTING}, whole_at_us = ${AHEAD} + excluded.interval_us * ${FITTING},
    counted_at_us = excluded.counted_at_us, interval_us = excluded.interval_us, period_us = excluded.period_us
  returning whole_at_us - counted_at_us as whole_us, allowed`;

/** Uses the database of a store that was opened before. Connects at the first request. */
export function openPostgresRateCounts({
  url,
  timeoutMs = 2_000,
}: PostgresRateCountsOptions): RateCounts & { close(): Promise<void> } {
  const pool = createPool(url, {
    ...{ max: 1, connectTimeoutMs: timeoutMs, queryTimeoutMs: timeoutMs },
    ...{ name: 'flywheel rate limits', session: SESSION },
  });
  return {
    async take({ key, intervalUs, periodUs }) {
      const { rows } = await pool.query<{ readonly whole_us: string; readonly allowed: string }>({
        name: 'take',
        text: TAKE,
        values: [key, intervalUs, periodUs],
      });
      const [row] = rows;
      invariant(row !== undefined, 'A request that is counted has a row.');
      return { allowed: Number(row.allowed) === 1, wholeAfterUs: Number(row.whole_us) };
    },
    close: () => pool.end(),
  };
}
