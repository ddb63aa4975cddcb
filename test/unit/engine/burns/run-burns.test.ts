/** Burns that are interrupted, expire, or are resumed by another engine: each happens once, and the engine learns which did. */
import { afterEach, describe, expect, it } from 'vitest';
import { dataFiles } from '../../../../src/compose/local-config.js';
import { randomIds } from '../../../../src/values/ids.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  dyingEngine,
  engineBeside,
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

  it.each([149, 150, 151])('signs anew what was never sent once %i blocks have passed', async (blocks) => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(test).burnBatch(burns(3), call)).rejects.toThrow();
    await passBlocks(test, Math.min(blocks, 150));
    if (blocks > 150) await passBlocks(test, blocks - 150);
    const { value } = await test.engine.burnBatch(burns(3), call);
    expect(value.success).toHaveLength(3);
    expect((await test.engine.status()).burned).toBe(sumTo(3));
  });

  it('does not sign anew what may still land, though hundreds of blocks have passed', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(test).burnBatch(burns(3), call)).rejects.toThrow();
    const sent = rawSqlite(
      dataFiles(test.dataDir).store,
      'select hex("transaction") as bytes from burns where "transaction" is not null',
    );
    expect(sent).toHaveLength(3);
    const others = Array.from({ length: 300 }, () => aBurnRequest(1));
    await test.engine.burnBatch(others, test.project.call({ idempotencyKey: randomIds.uuid() }));
    expect((await test.engine.burnBatch(burns(3), call)).value.success).toHaveLength(3);
    // Nothing of a final burn is stored for resending.
    expect(
      rawSqlite(dataFiles(test.dataDir).store, 'select 1 from burns where "transaction" is not null'),
    ).toEqual([]);
    // The first engine's bytes arrive late; they are the ones that landed, so nothing burns twice.
    const late = sent.map(({ bytes }) => Uint8Array.from(Buffer.from(String(bytes), 'hex')));
    expect(await test.chain.submit(late)).toEqual([null, null, null]);
    const { registration } = test.project;
    const left = await tokensOf(test.chain, test.project, registration.burnWallet);
    expect(left).toBe(1_000_000_000_000n - 306_000_000n);
  });

  it('signs an expired burn anew once, however many carry it on at the same time', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(test).burnBatch(burns(3), call)).rejects.toThrow();
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
    // Engines about to sign again wait for each other, or for a refusal; each gets its own blockhash.
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

  it('has no outcome while the chain refuses a blockhash that has not expired, and none is signed anew', async () => {
    test = await openTestEngine();
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    const sent = new Set<string>();
    const chain = chainOver(test.chain, {
      submit: async (transactions) => {
        for (const bytes of transactions) sent.add(Buffer.from(bytes).toString('hex'));
        const error = { kind: 'transaction', error: 'BlockhashNotFound' } as const;
        return transactions.map((_, index) => ({ index, error, logs: [] }));
      },
    });
    const strange = engineBeside(test, { chain }).burnBatch(burns(3), call);
    await expect(strange).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
    expect(sent.size).toBe(3);
    expect((await test.engine.burnBatch(burns(3), call)).value.success).toHaveLength(3);
    expect((await test.engine.status()).burned).toBe(sumTo(3));
  });
});
