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
