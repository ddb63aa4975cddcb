/** Reconciling: what dead engines left pending is settled, what living ones work on is left alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInstances } from '../../../src/compose/instances.js';
import { randomIds } from '../../../src/values/ids.js';
import { HandClock } from '../../support/chain.js';
import { chainOver, storeOver } from '../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../support/engine.js';

let test: TestEngine;
let clock: HandClock;
beforeEach(async () => {
  clock = new HandClock();
  test = await openTestEngine({ burnWalletTokens: '10', dailyBurn: '100' }, { clock });
});
afterEach(() => test.destroy());

/** An engine that dies before or after its burns reach the chain; nothing it would still write is kept. */
function dyingEngine(sends: boolean) {
  const instances = createInstances();
  let dead = false;
  const chain = chainOver(test.chain, {
    submit: async (transactions) => {
      if (sends) await test.chain.submit(transactions);
      dead = true;
      instances.release();
      throw new Error('killed');
    },
  });
  const { store } = test;
  return engineBeside(test, {
    instances,
    chain,
    store: storeOver(store, {
      transaction: (work) => (dead ? Promise.reject(new Error('killed')) : store.transaction(work)),
    }),
  });
}

const burns = [1, 2, 3].map((amount) => aBurnRequest(amount));

describe('reconcile', () => {
  it.each([true, false])('settles the burns of a dead engine (sent: %s)', async (sends) => {
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(sends).burnBatch(burns, call)).rejects.toThrow();
    expect(await test.engine.reconcile()).toEqual({ burns: 3, requests: 1 });
    expect(await test.engine.status()).toMatchObject({ burned: '6', usedToday: { burn: '6' } });
    expect(await test.engine.reconcile()).toEqual({ burns: 0, requests: 0 });
    // The client gets its answer when it asks again.
    const { value, meta } = await test.engine.burnBatch(burns, call);
    expect(value.success).toHaveLength(3);
    expect(meta.replayed).toBe(false);
    expect((await test.engine.status()).burned).toBe('6');
    expect((await test.engine.burnBatch(burns, call)).meta.replayed).toBe(true);
  });

  it('settles those of a single burn without a key', async () => {
    await expect(dyingEngine(false).burn(aBurnRequest(4), test.project.call())).rejects.toThrow();
    expect(await test.engine.reconcile()).toEqual({ burns: 1, requests: 1 });
    expect((await test.engine.status()).burned).toBe('4');
  });

  it('gives back the cap of what failed', async () => {
    const call = test.project.call({ idempotencyKey: 'key-1' });
    await expect(dyingEngine(false).burn(aBurnRequest(6), call)).rejects.toThrow();
    await test.engine.burn(aBurnRequest(5), test.project.call());
    expect((await test.engine.status()).usedToday.burn).toBe('11');
    expect(await test.engine.reconcile()).toEqual({ burns: 1, requests: 1 });
    expect(await test.engine.status()).toMatchObject({ burned: '5', usedToday: { burn: '5' } });
    await expect(test.engine.burn(aBurnRequest(6), call)).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: expect.stringContaining('insufficient funds'),
    });
    // Told once, it uses the key up no longer.
    await test.engine.fund({ to: 'burn-wallet', tokens: '1' });
    expect((await test.engine.burn(aBurnRequest(6), call)).value.result).toBe('SUCCESS');
  });

  it('leaves alone what a living engine works on', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let reach = (): void => undefined;
    const submitting = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const chain = chainOver(test.chain, {
      submit: async (transactions) => {
        reach();
        await released;
        return test.chain.submit(transactions);
      },
    });
    const first = engineBeside(test, { chain }).burnBatch(
      burns,
      test.project.call({ idempotencyKey: randomIds.uuid() }),
    );
    await submitting;
    expect(await test.engine.reconcile()).toEqual({ burns: 0, requests: 0 });
    release();
    expect((await first).value.success).toHaveLength(3);
  });

  it('forgets answers only after their retention', async () => {
    const call = test.project.call({ idempotencyKey: 'key-1' });
    await test.engine.burn(aBurnRequest(1), call);
    // A clock that jumps ages an answer by one day only.
    clock.timeMs += 400 * 86_400_000;
    for (let day = 0; day < 29; day += 1) {
      await test.engine.reconcile();
      clock.timeMs += 86_400_000;
    }
    await test.engine.reconcile();
    expect((await test.engine.burn(aBurnRequest(1), call)).meta.replayed).toBe(true);
    clock.timeMs += 86_400_000;
    await test.engine.reconcile();
    expect((await test.engine.burn(aBurnRequest(1), call)).meta.replayed).toBe(false);
  });
});
