/** Engines on one store with clocks hours or days apart, under one key: one burn, and no internal error. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { Random } from '../fuzz/random.js';
import { HandClock } from '../support/chain.js';
import { chainOver } from '../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../support/engine.js';
import { isLong, sampleOf } from '../support/long.js';
import { actOverMidnight } from './over-midnight.js';

const HOUR_MS = 3_600_000;
const APART_MS = [0, 2 * 24 * HOUR_MS, -3 * HOUR_MS, 60_000, 5 * HOUR_MS, -24 * HOUR_MS];
const ELEMENTS = isLong ? 300 : 60;

let test: TestEngine;
afterEach(() => test.destroy());

/** Calls all engines at once under one key, and repeats until there is an answer. @returns the answers and the earlier errors. */
async function together<Value>(
  call: (engine: TestEngine['engine']) => Promise<{ readonly value: Value }>,
): Promise<{ readonly values: ReadonlySet<string>; readonly codes: ReadonlySet<string> }> {
  const engines = APART_MS.map((apartMs) =>
    engineBeside(test, { clock: new HandClock(Date.now() + apartMs) }),
  );
  const codes = new Set<string>();
  const values = new Set<string>();
  const bring = async (engine: TestEngine['engine']): Promise<void> => {
    for (;;) {
      try {
        values.add(JSON.stringify((await call(engine)).value));
        return;
      } catch (error) {
        const { code } = error as { code: string };
        codes.add(code);
        if (code !== 'ERR_DUPLICATE_IDEMPOTENCY_KEY') return;
        await new Promise((done) => setImmediate(done));
      }
    }
  };
  await Promise.all(engines.map(bring));
  return { values, codes };
}

const BUSY = new Set(['ERR_DUPLICATE_IDEMPOTENCY_KEY']);

it('a burn-batch', async () => {
  test = await openTestEngine();
  const requests = Array.from({ length: ELEMENTS }, (_, index) => aBurnRequest(1, { proof: { index } }));
  const options = test.project.call({ idempotencyKey: randomUUID() });
  const { values, codes } = await together((engine) => engine.burnBatch(requests, options));
  expect([values.size, codes]).toEqual([1, BUSY]);
  const [value] = [...values].map((text) => JSON.parse(text) as { success: unknown[] });
  expect(value?.success).toHaveLength(ELEMENTS);
  expect((await test.engine.status()).burned).toBe(String(ELEMENTS));
});

it.each(sampleOf([1, 2, 3, 4, 5, 6, 7, 8], 2))(
  'burns and batches over a midnight, by blocks of another day: no cap is passed (seed %d)',
  async (seed) => {
    test = await openTestEngine({ dailyBurn: '5', dailyAirdrop: '5' });
    await actOverMidnight(test, new Random(seed), 5n);
  },
);

it.each([
  ['the ledger of a file', null, 40 * 24],
  ['a cluster', 1, 20],
])(
  'blocks of %s are ahead of a clock that is set back: what they hold counts on their day',
  async (_, pollMs, hours) => {
    const clock = new HandClock();
    test = await openTestEngine({ dailyBurn: '5', dailyAirdrop: '5' }, { clock });
    const { project } = test;
    const chain = chainOver(test.chain, { pollMs });
    const behind = engineBeside(test, { chain, clock: new HandClock(clock.timeMs - hours * HOUR_MS) });
    const today = engineBeside(test, { chain });
    await behind.burn(aBurnRequest(2), project.call());
    const pipelines = [
      aPipeline([{ action: 'AIRDROP', toAddress: project.owner.address, amount: 4 }, burnAction(1)]),
    ];
    const { value } = await behind.initBatch({ pipelines }, project.call());
    const body = { batchId: value.batch.id, signedTx: signApproval(project.owner, value) };
    await behind.executeBatch(body, project.call());
    expect((await today.status()).usedToday).toMatchObject({ burn: '3', airdrop: '4' });
    for (const engine of [behind, today])
      await expect(engine.burn(aBurnRequest(3), project.call())).rejects.toMatchObject({
        code: 'ERR_DAILY_LIMIT_EXCEEDED',
      });
  },
);

it.each(['waits for approval', 'can run'])(
  'a batch that %s holds its day: nothing is accepted for the day before, by a clock that is behind',
  async (state) => {
    const clock = new HandClock();
    test = await openTestEngine({ dailyBurn: '5' }, { clock });
    const { project } = test;
    const today = engineBeside(test, {
      chain: chainOver(test.chain, {
        submit: () => Promise.reject(new Error('The approval is on its way.')),
      }),
      clock,
    });
    const yesterday = engineBeside(test, { clock: new HandClock(clock.timeMs - 24 * HOUR_MS) });
    const { value } = await test.engine.initBatch(
      { pipelines: [aPipeline([burnAction(4)])] },
      project.call(),
    );
    const body = { batchId: value.batch.id, signedTx: signApproval(project.owner, value) };
    if (state === 'can run') await expect(today.executeBatch(body, project.call())).rejects.toThrow();
    const burn = yesterday.burn(aBurnRequest(2), project.call());
    await expect(burn).rejects.toMatchObject({ code: 'ERR_DAILY_LIMIT_EXCEEDED' });
    await yesterday.burn(aBurnRequest(1), project.call());
    await test.engine.executeBatch(body, project.call());
    expect((await test.engine.status()).usedToday).toMatchObject({ burn: '5' });
  },
);
