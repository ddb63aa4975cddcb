/** Rate limits in a database: shared by all servers, by the database clock, and never unlimited. */
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { takeRate } from '../../../src/http/rate-limit.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { openPostgresRateCounts } from '../../../src/store/postgres/rate-counts.js';
import { databaseOfFile } from './database-of-file.js';

const HOUR_US = 3_600_000_000;
const LIMIT = { name: 'burn', points: 10, windowSeconds: 36_000 };

const server = databaseOfFile();
beforeAll(async () => {
  await (await openPostgresStore({ url: server.url })).close();
});

describe('openPostgresRateCounts', () => {
  const opened: { close(): Promise<void> }[] = [];
  const open = (url = server.url) => {
    const counts = openPostgresRateCounts({ url, timeoutMs: 1_000 });
    opened.push(counts);
    return counts;
  };
  beforeEach(() => server.query('delete from rate_counts'));
  afterEach(async () => {
    for (const counts of opened.splice(0)) await counts.close();
  });

  type Counts = ReturnType<typeof open>;
  const allowed = async (counts: Counts, requests = 1): Promise<number> => {
    const take = { key: 'a', intervalUs: HOUR_US, periodUs: 10 * HOUR_US };
    const taken = await Promise.all(Array.from({ length: requests }, () => counts.take(take)));
    return taken.filter((one) => one.allowed).length;
  };

  it('allows as many as there are points, to however many servers they come', async () => {
    const servers = [open(), open(), open()] as const;
    const decisions = await Promise.all(
      Array.from({ length: 60 }, (_, at) => takeRate(servers[at % 3] ?? servers[0], 'key-1', LIMIT)),
    );
    expect(decisions.filter((one) => one.allowed)).toHaveLength(LIMIT.points);
    expect((await takeRate(servers[0], 'key-2', LIMIT)).allowed).toBe(true);
  });

  it('lets points come back with the time of the database', async () => {
    const counts = open();
    expect(await allowed(counts, 12)).toBe(10);
    await server.query(`update rate_counts set whole_at_us = whole_at_us - ${3 * HOUR_US}`);
    expect(await allowed(counts, 12)).toBe(3);
    // After the clock was set back, no client is locked out for that long.
    await server.query(`update rate_counts set whole_at_us = whole_at_us + ${1_000 * HOUR_US}`);
    expect(await allowed(counts)).toBe(0);
    await server.query(`update rate_counts set whole_at_us = whole_at_us - ${HOUR_US}`);
    expect(await allowed(counts)).toBe(1);
  });

  it('refuses, saying when to come again, while the database does not answer', async () => {
    const counts = open('postgres://postgres@127.0.0.1:1/postgres');
    await expect(takeRate(counts, 'key-1', LIMIT)).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      options: { retryAfterSeconds: 1 },
    });
  });

  it('counts again once the database is back', async () => {
    const counts = open();
    expect((await takeRate(counts, 'key-1', LIMIT)).remaining).toBe(9);
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'flywheel rate limits'",
    );
    await takeRate(counts, 'key-1', LIMIT).catch(() => undefined);
    expect((await takeRate(counts, 'key-1', LIMIT)).allowed).toBe(true);
  });
});
