/**
 * Counts requests for the rate limits in the database, for all servers on it together and by its clock. One statement counts all
 * that came while the one before it was under way.
 *
 * A row holds the theoretical arrival time of the generic cell rate algorithm: when all points will be there again. Its commit
 * does not wait for the disk, which is what a count is worth: a database that loses its power forgets the last fraction of a
 * second of them. They have a connection of their own for that, and because they must not wait behind what moves money.
 */
import pg from 'pg';
import {
  groupTakes,
  type RateCounts,
  type RateGroup,
  type RateTake,
  type RateTaken,
  shareOut,
} from '../../contract/rate-counts.js';
import { invariant } from '../../errors/flywheel-error.js';
import { libpqUrl } from './connection.js';

export interface PostgresRateCountsOptions {
  /** As of the store. */
  readonly url: string;
  /** For how long to wait for an answer; a request that cannot be counted is refused. @default 2000 */
  readonly timeoutMs?: number;
}

/** Rows without meaning are deleted once in so many statements, at most so many. */
const TAKES_BETWEEN_CLEANING = 1_000;
const MAX_CLEANED = 1_000;

/** Kept to the connection, where nothing else is written. */
const SESSION = 'set synchronous_commit = off';

/**
 * $1 keys, $2 the time in which one point comes back, $3 that of all, $4 how many requests there are. Rows are locked in the order
 * of their keys, so that two servers never wait for each other. Points never lie further ahead than the period.
 */
const AHEAD =
  'greatest(least(known.whole_at_us, excluded.counted_at_us + excluded.period_us), excluded.counted_at_us)';
const FITTING = `least(excluded.allowed, (excluded.counted_at_us + excluded.period_us - ${AHEAD}) / excluded.interval_us)`;
const TAKE = `
  insert into rate_counts as known (key, whole_at_us, allowed, counted_at_us, interval_us, period_us)
  select asked.key, now.us + asked.interval_us * fit.allowed, fit.allowed, now.us, asked.interval_us, asked.period_us
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) as asked (key, interval_us, period_us, requests)
    cross join lateral (select least(asked.requests, asked.period_us / asked.interval_us) as allowed) as fit
    cross join (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) as now
  order by asked.key
  on conflict (key) do update set allowed = ${FITTING}, whole_at_us = ${AHEAD} + excluded.interval_us * ${FITTING},
    counted_at_us = excluded.counted_at_us, interval_us = excluded.interval_us, period_us = excluded.period_us
  returning key, whole_at_us - counted_at_us as whole_us, allowed`;
/** Waits for nobody, so that nobody waits for it in a circle. */
const CLEAN = `
  delete from rate_counts where key in (
    select key from rate_counts where whole_at_us <= (extract(epoch from clock_timestamp()) * 1000000)::bigint
    order by key limit ${MAX_CLEANED} for update skip locked)`;

interface TakenRow {
  readonly key: string;
  readonly whole_us: string;
  readonly allowed: string;
}

/** Groups of which no two have the same key: a statement changes a row once. */
function rounds(groups: readonly RateGroup[]): readonly (readonly RateGroup[])[] {
  const found: Map<string, RateGroup>[] = [];
  for (const group of groups) {
    let round = found.find((one) => !one.has(group.key));
    if (round === undefined) {
      round = new Map();
      found.push(round);
    }
    round.set(group.key, group);
  }
  return found.map((round) => [...round.values()]);
}

async function takeRound(
  pool: pg.Pool,
  groups: readonly RateGroup[],
  taken: Map<RateTake, RateTaken>,
): Promise<void> {
  const { rows } = await pool.query<TakenRow>({
    name: 'take',
    text: TAKE,
    values: [
      groups.map(({ key }) => key),
      groups.map(({ intervalUs }) => intervalUs),
      groups.map(({ periodUs }) => periodUs),
      groups.map(({ requests }) => requests.length),
    ],
  });
  const found = new Map(rows.map((row) => [row.key, row]));
  for (const group of groups) {
    const row = found.get(group.key);
    invariant(row !== undefined, 'Each key that is counted has a row.');
    shareOut(group, Number(row.allowed), Number(row.whole_us), taken);
  }
}

/** Counts in the database of a store that was opened before. Nothing is asked until the first request comes. */
export function openPostgresRateCounts({
  url,
  timeoutMs = 2_000,
}: PostgresRateCountsOptions): RateCounts & { close(): Promise<void> } {
  const pool = new pg.Pool({
    connectionString: libpqUrl(url),
    max: 1,
    application_name: 'flywheel rate limits',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    onConnect: async (client) => {
      await client.query(SESSION);
    },
  });
  // A connection that ends while nobody has it is replaced when it is next needed.
  pool.on('error', () => undefined);
  let takes = 0;
  return {
    async take(requests) {
      const taken = new Map<RateTake, RateTaken>();
      for (const round of rounds(groupTakes(requests))) await takeRound(pool, round, taken);
      takes += 1;
      if (takes % TAKES_BETWEEN_CLEANING === 0) await pool.query(CLEAN);
      return requests.map((request) => taken.get(request) as RateTaken);
    },
    close: () => pool.end(),
  };
}
