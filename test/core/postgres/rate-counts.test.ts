/** Counting requests in a database: together with all servers on it, by its clock, and never unlimited. */
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRateLimiter } from '../../../src/http/rate-limiter.js';
import { openPostgresStore } from '../../../src/store/postgres/open.js';
import { openPostgresRateCounts } from '../../../src/store/postgres/rate-counts.js';
import { type OwnDatabase, openDatabase } from '../../support/postgres.js';

const HOUR_US = 3_600_000_000;
const LIMIT = { name: 'burn', points: 10, windowSeconds: 36_000 };

let server: OwnDatabase;
let admin: pg.Client;
beforeAll(async () => {
  server = await openDatabase();
  await (await openPostgresStore({ url: server.url })).close();
  admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await server.stop();
});

describe('openPostgresRateCounts', () => {
  const opened: { close(): Promise<void> }[] = [];
  const open = (url = server.url) => {
    const counts = openPostgresRateCounts({ url, timeoutMs: 1_000 });
    opened.push(counts);
    return counts;
  };
  beforeEach(() => admin.query('delete from rate_counts'));
  afterEach(async () => {
    for (const counts of opened.splice(0)) await counts.close();
  });

  const take = (key: string, requests = 1) =>
    Array.from({ length: requests }, () => ({ key, intervalUs: HOUR_US, periodUs: 10 * HOUR_US }));
  const allowed = (taken: readonly { readonly allowed: boolean }[]) =>
    taken.filter((one) => one.allowed).length;

  it('allows as many as there are points, to however many servers they come', async () => {
    const limiters = [open(), open(), open()].map(createRateLimiter);
    const decisions = await Promise.all(
      Array.from({ length: 60 }, (_, at) => limiters[at % 3]?.take('key-1', LIMIT)),
    );
    const remaining = decisions.flatMap((one) => (one?.allowed ? [one.remaining] : []));
    expect(remaining.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await limiters[0]?.take('key-2', LIMIT))?.allowed).toBe(true);
  });

  it('counts the requests of one turn as if they had come one by one', async () => {
    const counts = open();
    const together = await counts.take(take('a', 14));
    const alone = [];
    for (let at = 0; at < 14; at += 1) alone.push(...(await counts.take(take('b'))));
    expect(together.map((one) => one.allowed)).toEqual(alone.map((one) => one.allowed));
    const hours = (one: { readonly wholeAfterUs: number }) => Math.ceil(one.wholeAfterUs / HOUR_US);
    expect(together.map(hours)).toEqual(alone.map(hours));
    expect(allowed(together)).toBe(10);
  });

  it('lets points come back with the time of the database', async () => {
    const counts = open();
    expect(allowed(await counts.take(take('a', 12)))).toBe(10);
    await admin.query(`update rate_counts set whole_at_us = whole_at_us - ${3 * HOUR_US}`);
    expect(allowed(await counts.take(take('a', 12)))).toBe(3);
    // A clock that was set back locks nobody out for as long as it went back.
    await admin.query(`update rate_counts set whole_at_us = whole_at_us + ${1_000 * HOUR_US}`);
    expect(allowed(await counts.take(take('a')))).toBe(0);
    await admin.query(`update rate_counts set whole_at_us = whole_at_us - ${HOUR_US}`);
    expect(allowed(await counts.take(take('a')))).toBe(1);
  });

  it('takes one key under two limits in one go', async () => {
    const wide = { key: 'a', intervalUs: HOUR_US / 10, periodUs: 10 * HOUR_US };
    expect(allowed(await open().take([...take('a'), wide, ...take('a')]))).toBe(3);
  });

  it('never lets servers wait for each other in a circle', async () => {
    const keys = Array.from({ length: 40 }, (_, at) => `key-${at}`);
    const wide = (key: string) => ({ key, intervalUs: 1, periodUs: HOUR_US });
    const servers = [open(), open(), open(), open()];
    await Promise.all(
      servers.map(async (counts, at) => {
        const order = at % 2 === 0 ? keys : [...keys].reverse();
        for (let turn = 0; turn < 60; turn += 1) await counts.take(order.map(wide));
      }),
    );
    const { rows } = await admin.query(
      'select sum(whole_at_us - counted_at_us)::int as open from rate_counts',
    );
    expect(rows[0].open).toBeGreaterThan(0);
  });

  it('keeps no rows that mean nothing any more', async () => {
    const counts = open();
    for (let turn = 0; turn < 1_000; turn += 1)
      await counts.take([...take('a'), { key: `once-${turn}`, intervalUs: 1, periodUs: 1 }]);
    const { rows } = await admin.query('select key from rate_counts');
    expect(rows.length).toBeLessThanOrEqual(2);
  });

  it('refuses, saying when to come again, while the database does not answer', async () => {
    const limiter = createRateLimiter(open('postgres://postgres@127.0.0.1:1/postgres'));
    await expect(limiter.take('key-1', LIMIT)).rejects.toMatchObject({
      code: 'ERR_UNAVAILABLE',
      options: { retryAfterSeconds: 1 },
    });
  });

  it('counts again once the database is back', async () => {
    const limiter = createRateLimiter(open());
    expect((await limiter.take('key-1', LIMIT)).remaining).toBe(9);
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'flywheel rate limits'",
    );
    await limiter.take('key-1', LIMIT).catch(() => undefined);
    expect((await limiter.take('key-1', LIMIT)).allowed).toBe(true);
  });
});
