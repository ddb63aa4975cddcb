/** Machines on one PostgreSQL with clocks minutes and days apart: the database clock decides, and nothing happens twice. */
import { afterEach, expect, it } from 'vitest';
import type { EngineParts } from '../../../src/engine/deps.js';
import { createEngine, type Engine } from '../../../src/engine/engine.js';
import { Leases } from '../../../src/engine/lease.js';
import type { Store } from '../../../src/store/store.js';
import { isoTime } from '../../../src/values/time.js';
import { Random } from '../../fuzz/random.js';
import { HandClock } from '../../support/chain.js';
import { chainOver } from '../../support/doubles.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../support/engine.js';
import { sampleOf } from '../../support/long.js';
import { openPostgresStoreIn } from '../../support/postgres.js';
import type { StoreUnderTest } from '../../support/store.js';
import { actOverMidnight } from '../over-midnight.js';
import { databaseOfFile } from './database-of-file.js';

const MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

const server = databaseOfFile();
let database: StoreUnderTest;
let test: TestEngine;
afterEach(async () => {
  await test.destroy();
  await database.dispose();
});

const open = openPostgresStoreIn(() => server.url);

async function machine(
  id: string,
  aheadMs: number,
  parts: Partial<EngineParts> = {},
): Promise<Engine & { readonly store: Store }> {
  const clock = new HandClock(Date.now() + aheadMs);
  const store = await database.openAgain({ clock });
  const leases = new Leases(id);
  return Object.assign(createEngine({ ...test.deps, clock, store, leases, ...parts }), { store });
}

async function setUp(dailyBurn: string | null = null, dailyAirdrop = dailyBurn): Promise<void> {
  database = await open();
  test = await openTestEngine({ dailyBurn, dailyAirdrop }, { store: database.store });
}

it.each([MINUTES_MS, -MINUTES_MS, 2 * DAY_MS])(
  'leaves living work alone, by a clock that is %d ms apart',
  async (aheadMs) => {
    await setUp();
    let go = (): void => undefined;
    const stopped = new Promise<void>((resolve) => {
      go = resolve;
    });
    let arrive = (): void => undefined;
    const sending = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const slow = chainOver(test.chain, {
      submit: async (...given) => {
        arrive();
        await stopped;
        return test.chain.submit(...given);
      },
    });
    const first = await machine('first', 0, { chain: slow });
    const other = await machine('other', aheadMs);
    const call = test.project.call({ idempotencyKey: 'key-1' });
    const burned = first.burn(aBurnRequest(1), call);
    await sending;
    await expect(other.burn(aBurnRequest(1), call)).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
    });
    expect(await other.reconcile()).toMatchObject({ burns: 0 });
    go();
    const answer = await burned;
    expect((await other.burn(aBurnRequest(1), call)).value).toEqual(answer.value);
    expect((await other.status()).burned).toBe('1');
  },
);

it('takes over at once what is over by the clock of the database', async () => {
  await setUp();
  const died = new Error('The machine is gone.');
  const first = await machine('first', MINUTES_MS, {
    chain: chainOver(test.chain, {
      submit: async () => {
        throw died;
      },
    }),
  });
  const call = test.project.call({ idempotencyKey: 'key-1' });
  await expect(first.burn(aBurnRequest(1), call)).rejects.toThrow();
  const [{ now = 0 } = {}] = await database.raw('select extract(epoch from now())::float8 * 1000 as now');
  await database.raw(
    `update requests set holder = 'first/1/1', lease_until_ms = ${Math.floor(Number(now)) - 1}`,
  );
  const other = await machine('other', -MINUTES_MS);
  expect((await other.burn(aBurnRequest(1), call)).value).toMatchObject({ result: 'SUCCESS' });
  expect((await other.status()).burned).toBe('1');
});

it('counts what is burned on the day of the database, whatever day a machine believes it is', async () => {
  await setUp('3');
  const machines = await Promise.all([0, DAY_MS, -DAY_MS, MINUTES_MS].map((ms, at) => machine(`m${at}`, ms)));
  const tries = await Promise.allSettled(
    machines.flatMap((engine) => [1, 2, 3].map(() => engine.burn(aBurnRequest(1), test.project.call()))),
  );
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const codes = tries.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
  expect(new Set(codes)).toEqual(new Set(['ERR_DAILY_LIMIT_EXCEEDED']));
  const now = await database.raw("select to_char(now() at time zone 'utc', 'YYYY-MM-DD') as day");
  const written = await database.raw(
    'select distinct day, substr(date_created, 1, 10) as created from burns',
  );
  expect(written).toEqual([{ day: now[0]?.['day'], created: now[0]?.['day'] }]);
  for (const engine of machines) expect((await engine.status()).usedToday.burn).toBe('3');
});

it('tells the time of the server, and how it goes on meanwhile', async () => {
  await setUp();
  const clock = new HandClock(0);
  const store = await database.openAgain({ clock });
  const atServer = await store.read(async ({ nowMs }) => nowMs);
  expect(Math.abs(Date.now() - atServer)).toBeLessThan(5_000);
  expect(store.latestMs()).toBeGreaterThanOrEqual(atServer);
  clock.timeMs += MINUTES_MS;
  expect(isoTime(store.latestMs()) >= isoTime(atServer + MINUTES_MS)).toBe(true);
});

it.each(sampleOf([1, 3, 6], 1))(
  'burns and batches over a midnight, by blocks of another day: no cap is passed (seed %d)',
  async (seed) => {
    await setUp('5');
    await actOverMidnight(test, new Random(seed), 5n);
  },
);
