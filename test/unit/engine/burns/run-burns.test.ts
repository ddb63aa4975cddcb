/** Burns that are cut off, expire, or are carried on by somebody else: each happens once, and the engine finds out which did. */
import { afterEach, describe, expect, it } from 'vitest';
import { dataFiles } from '../../../../src/compose/local-config.js';
import { randomIds } from '../../../../src/values/ids.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  engineBeside,
  landedCount,
  openTestEngine,
  passBlocks,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';
import { rawSqlite } from '../../../support/store.js';

let test: TestEngine;
afterEach(() => test.destroy());

const burns = (count: number) => Array.from({ length: count }, (_, index) => aBurnRequest(index + 1));
const sumTo = (count: number): string => String((count * (count + 1)) / 2);

/** An engine that dies (for everybody else) when it would submit for the `nth` time. */
function dyingEngine(nth = 1, submitsFirst = false) {
  let submits = 0;
  const chain = chainOver(test.chain, {
    submit: async (transactions) => {
      submits += 1;
      if (submits < nth) return test.chain.submit(transactions);
      if (submitsFirst) await test.chain.submit(transactions);
      // Its store is gone with it: nothing it would still write may land.
      dead = true;
      test.passLease();
      throw new Error('killed');
    },
  });
  let dead = false;
  const store = {
    ...test.store,
    read: test.store.read.bind(test.store),
    transaction: (work: Parameters<typeof test.store.transaction>[0]) =>
      dead ? Promise.reject(new Error('killed')) : test.store.transaction(work),
  } as typeof test.store;
  return engineBeside(test, { chain, store });
}

describe('runBurns', () => {
  it('carries two batches through at once though they are more than 150 blocks', async () => {
    test = await openTestEngine();
    const { engine, project } = test;
    const results = await Promise.all(
      [1, 2].map(() => engine.burnBatch(burns(128), project.call({ idempotencyKey: randomIds.uuid() }))),
    );
    expect(results.map(({ value }) => [value.success.length, value.errors.length])).toEqual([
      [128, 0],
      [128, 0],
    ]);
    expect((await engine.status()).burned).toBe(String(128 * 129));
  });

  it('submits what was written and never sent', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine().burnBatch(burns(3), call)).rejects.toThrow();
    expect((await test.engine.status()).burned).toBe('0');
    const { value } = await test.engine.burnBatch(burns(3), call);
    expect(value.success).toHaveLength(3);
    expect((await test.engine.status()).burned).toBe(sumTo(3));
  });

  it('finds what was sent and never written down', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(1, true).burnBatch(burns(3), call)).rejects.toThrow();
    expect((await test.engine.status()).burned).toBe(sumTo(3));
    const { value } = await test.engine.burnBatch(burns(3), call);
    expect(value.success).toHaveLength(3);
    expect((await test.engine.status()).burned).toBe(sumTo(3));
  });

  it.each([149, 150, 151])('signs anew what was never sent once %i blocks have passed', async (blocks) => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine().burnBatch(burns(3), call)).rejects.toThrow();
    await passBlocks(test, Math.min(blocks, 150));
    if (blocks > 150) await passBlocks(test, blocks - 150);
    const { value } = await test.engine.burnBatch(burns(3), call);
    expect(value.success).toHaveLength(3);
    expect((await test.engine.status()).burned).toBe(sumTo(3));
  });

  it('does not sign anew what may still land, though hundreds of blocks have passed', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine().burnBatch(burns(3), call)).rejects.toThrow();
    const sent = rawSqlite(
      dataFiles(test.dataDir).store,
      'select hex("transaction") as bytes from burns where "transaction" is not null',
    );
    expect(sent).toHaveLength(3);
    const others = Array.from({ length: 300 }, () => aBurnRequest(1));
    await test.engine.burnBatch(others, test.project.call({ idempotencyKey: randomIds.uuid() }));
    expect((await test.engine.burnBatch(burns(3), call)).value.success).toHaveLength(3);
    // Of what is final nothing is kept to be sent.
    expect(
      rawSqlite(dataFiles(test.dataDir).store, 'select 1 from burns where "transaction" is not null'),
    ).toEqual([]);
    // What the first one would have sent comes late; it is what has landed, so nothing burns twice.
    const late = sent.map(({ bytes }) => Uint8Array.from(Buffer.from(String(bytes), 'hex')));
    expect(await test.chain.submit(late)).toEqual([null, null, null]);
    const { registration } = test.project;
    const left = await tokensOf(test.chain, test.project, registration.burnWallet);
    expect(left).toBe(1_000_000_000_000n - 306_000_000n);
  });

  it('signs an expired burn anew once, however many carry it on at the same time', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine().burnBatch(burns(3), call)).rejects.toThrow();
    await passBlocks(test, 150);
    await passBlocks(test, 1);
    const engines = 4;
    let arrived = 0;
    let openGate = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const arrive = (): void => {
      arrived += 1;
      if (arrived === engines) openGate();
    };
    let turn: Promise<unknown> = Promise.resolve();
    // Whoever would sign anew waits until all would, or were refused; each gets a blockhash of its own.
    const meet = () => {
      let here = false;
      const announce = (): void => {
        if (!here) arrive();
        here = true;
      };
      const latestBlockhash = async () => {
        announce();
        await gate;
        const mine = turn.then(async () => {
          await passBlocks(test, 1);
          return test.chain.latestBlockhash();
        });
        turn = mine.catch(() => undefined);
        return mine;
      };
      return { announce, chain: chainOver(test.chain, { latestBlockhash }) };
    };
    const outcomes = await Promise.allSettled(
      Array.from({ length: engines }, () => {
        const { announce, chain } = meet();
        return engineBeside(test, { chain }).burnBatch(burns(3), call).finally(announce);
      }),
    );
    const codes = outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value.value.success.length : outcome.reason.code,
    );
    expect((await test.engine.status()).burned).toBe(sumTo(3));
    expect(codes.sort()).toEqual([3, ...Array(3).fill('ERR_DUPLICATE_IDEMPOTENCY_KEY')]);
  });
});

describe('a burn whose record cannot be written', () => {
  const refuseRecords = (condition: string) =>
    rawSqlite(
      dataFiles(test.dataDir).store,
      `create trigger refuse before insert on burns when ${condition} begin select raise(abort, 'no room'); end`,
    );

  it('is refused by that name, burns nothing and does not use its key up', async () => {
    test = await openTestEngine();
    const { engine, project } = test;
    const call = project.call({ idempotencyKey: randomIds.uuid() });
    const height = await landedCount(test.chain);
    refuseRecords('true');
    await expect(engine.burn(aBurnRequest(1), call)).rejects.toMatchObject({
      code: 'ERR_CREATE_API_EVENT_FAILED',
      status: 400,
    });
    expect(await landedCount(test.chain)).toBe(height);
    expect((await engine.status()).usedToday.burn).toBe('0');
    rawSqlite(dataFiles(test.dataDir).store, 'drop trigger refuse');
    await engine.burn(aBurnRequest(1), call);
    expect((await engine.status()).burned).toBe('1');
  });

  it.each([
    ['from the middle on', 'new."index" >= 140', 140, 60],
    ['alone among others', 'new."index" = 7', 199, 1],
    ['like all others', 'true', 0, 200],
  ])('is refused alone in a batch: %s', async (_name, condition, landed, refused) => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    const requests = Array.from({ length: 200 }, () => aBurnRequest(1));
    refuseRecords(condition);
    const { value } = await test.engine.burnBatch(requests, call);
    expect([value.success.length, value.errors.length]).toEqual([landed, refused]);
    expect(new Set(value.errors.map(({ type }) => type))).toEqual(new Set(['ERR_CREATE_API_EVENT_FAILED']));
    expect(await test.engine.status()).toMatchObject({
      burned: String(landed),
      usedToday: { burn: String(landed) },
    });
    rawSqlite(dataFiles(test.dataDir).store, 'drop trigger refuse');
    const again = await test.engine.burnBatch(requests, call);
    expect(again).toEqual({ value, meta: { replayed: true } });
    expect((await test.engine.status()).burned).toBe(String(landed));
  });

  it('is told of none where the answer itself cannot be kept, and the same key carries on', async () => {
    test = await openTestEngine();
    const { store } = dataFiles(test.dataDir);
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    const requests = Array.from({ length: 200 }, () => aBurnRequest(1));
    refuseRecords('new."index" >= 140');
    rawSqlite(
      store,
      "create trigger keep before update of reply on requests begin select raise(abort, 'no room'); end",
    );
    await expect(test.engine.burnBatch(requests, call)).rejects.toMatchObject({ status: 500 });
    expect((await test.engine.status()).burned).toBe('140');
    rawSqlite(store, 'drop trigger refuse');
    rawSqlite(store, 'drop trigger keep');
    expect((await test.engine.burnBatch(requests, call)).value.success).toHaveLength(200);
    expect((await test.engine.status()).burned).toBe('200');
  });
});
