/** Idempotency: at most once for a key, whoever asks, as often as they ask. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createInstances } from '../../../../src/compose/instances.js';
import type { EngineDeps } from '../../../../src/engine/deps.js';
import { randomIds } from '../../../../src/values/ids.js';
import { Secret } from '../../../../src/values/secret.js';
import { HandClock } from '../../../support/chain.js';
import { chainOver } from '../../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
let clock: HandClock;
beforeEach(async () => {
  clock = new HandClock();
  test = await openTestEngine({}, { clock });
});
afterEach(() => test.destroy());

const call = (idempotencyKey: string) => test.project.call({ idempotencyKey });
const burned = async () => (await test.engine.status()).burned;

/** An engine that waits before it submits, until it is let go. */
function pausedEngine(parts: Partial<EngineDeps> = {}) {
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
  return { engine: engineBeside(test, { chain, ...parts }), submitting, release };
}

describe('a request with a key', () => {
  it('is answered from the first time on, and does nothing', async () => {
    const first = await test.engine.burn(aBurnRequest(1), call('key-1'));
    const height = await test.chain.blockHeight();
    for (const engine of [test.engine, engineBeside(test)]) {
      expect(await engine.burn(aBurnRequest(1), call('key-1'))).toEqual({
        value: first.value,
        meta: { replayed: true },
      });
    }
    expect(await test.chain.blockHeight()).toBe(height);
  });

  it('is the same request however its keys are ordered', async () => {
    const { type, proof, burnAmount, persistOnchain } = aBurnRequest(1);
    await test.engine.burn({ type, proof, burnAmount, persistOnchain }, call('key-1'));
    const again = await test.engine.burn({ persistOnchain, burnAmount, proof, type }, call('key-1'));
    expect(again.meta.replayed).toBe(true);
  });

  it.each([{ burnAmount: 2 }, { type: 'WATCH_AD' }, { proof: { order: 2 } }, { persistOnchain: true }])(
    'is refused with another body: %j',
    async (more) => {
      await test.engine.burn(aBurnRequest(1), call('key-1'));
      await expect(test.engine.burn({ ...aBurnRequest(1), ...more }, call('key-1'))).rejects.toMatchObject({
        code: 'ERR_IDEMPOTENCY_KEY_REUSED',
        message: 'The idempotency key key-1 was used with another body.',
      });
      expect(await burned()).toBe('1');
    },
  );

  it('belongs to its project and its operation', async () => {
    const key = randomIds.uuid();
    const other = await test.engine.createKey({ scopes: ['burn'], proofTypes: null });
    await test.engine.burn(aBurnRequest(1), call(key));
    await test.engine.burnBatch([aBurnRequest(1)], call(key));
    await test.engine.burn(aBurnRequest(1), { credential: new Secret(other.key), idempotencyKey: key });
    expect(await burned()).toBe('2');
  });

  it('is told again only to a key that may use its proof types', async () => {
    const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const narrow = { credential: new Secret(key), idempotencyKey: 'key-1' };
    await test.engine.burn(aBurnRequest(1), call('key-1'));
    await expect(test.engine.burn(aBurnRequest(1), narrow)).rejects.toMatchObject({
      code: 'ERR_INVALID_PROOF',
      message: 'The proof type "PRODUCT_BUY" is not permitted for this key.',
    });
    expect(await burned()).toBe('1');
  });

  it('that failed does not use its key up', async () => {
    await expect(test.engine.burn(aBurnRequest(5_000_000), call('key-1'))).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
    });
    expect((await test.engine.burn(aBurnRequest(1), call('key-1'))).meta.replayed).toBe(false);
  });

  it.each(['', ' ', 'a b', 'é', 'x'.repeat(256), 'tab\t'])('is refused for the key %j', async (key) => {
    await expect(test.engine.burn(aBurnRequest(1), call(key))).rejects.toMatchObject({
      code: 'ERR_INVALID_REQUEST',
      message: expect.stringContaining('1 to 255 visible ASCII characters'),
    });
  });

  it('takes every visible key of up to 255 characters', async () => {
    for (const key of ['!', '~', 'x'.repeat(255)]) await test.engine.burn(aBurnRequest(1), call(key));
    expect(await burned()).toBe('3');
  });
});

describe('a request that is still running', () => {
  it('is refused to others as long as its engine lives', async () => {
    const { engine, submitting, release } = pausedEngine();
    const first = engine.burn(aBurnRequest(1), call('key-1'));
    await submitting;
    await expect(test.engine.burn(aBurnRequest(1), call('key-1'))).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      message: 'A request with the idempotency key key-1 is still running.',
      options: { retryAfterSeconds: 1 },
    });
    await expect(test.engine.burn(aBurnRequest(2), call('key-1'))).rejects.toMatchObject({
      code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    });
    release();
    const { value } = await first;
    expect(await test.engine.burn(aBurnRequest(1), call('key-1'))).toEqual({
      value,
      meta: { replayed: true },
    });
    expect(await burned()).toBe('1');
  });

  it('is taken over at once when its engine is gone, and happens once all the same', async () => {
    const instances = createInstances();
    const { engine, submitting, release } = pausedEngine({ instances });
    const first = engine.burn(aBurnRequest(1), call('key-1'));
    await submitting;
    instances.release();
    const { value, meta } = await test.engine.burn(aBurnRequest(1), call('key-1'));
    expect(meta.replayed).toBe(false);
    // Not so dead after all: what it submits now is the very same transaction, which cannot land twice.
    release();
    await expect(first).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    expect(await burned()).toBe('1');
    expect((await test.engine.burn(aBurnRequest(1), call('key-1'))).value).toEqual(value);
  });

  it("is taken over when another machine's engine has shown no sign of life for a minute", async () => {
    const elsewhere = { id: 'another-machine/1-0/1', isAlive: () => true };
    const { engine, submitting, release } = pausedEngine({ instances: elsewhere });
    const first = engine.burn(aBurnRequest(1), call('key-1'));
    await submitting;
    clock.timeMs += 59_999;
    await expect(test.engine.burn(aBurnRequest(1), call('key-1'))).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
    });
    clock.timeMs += 1;
    expect((await test.engine.burn(aBurnRequest(1), call('key-1'))).meta.replayed).toBe(false);
    release();
    await expect(first).rejects.toBeDefined();
    expect(await burned()).toBe('1');
  });

  it('is not taken over within a minute of the last that was written for it', async () => {
    let [submits, release, reach] = [0, (): void => undefined, (): void => undefined];
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waiting = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const chain = chainOver(test.chain, {
      submit: async (transactions) => {
        submits += 1;
        clock.timeMs += 50_000;
        if (submits === 2) {
          reach();
          await released;
        }
        return test.chain.submit(transactions);
      },
    });
    const elsewhere = { id: 'another-machine/1-0/1', isAlive: () => true };
    const limits = { ...test.deps.limits, burnsPerCommit: 1 };
    const burns = [aBurnRequest(1), aBurnRequest(2)];
    const key = randomIds.uuid();
    const first = engineBeside(test, { chain, limits, instances: elsewhere }).burnBatch(burns, call(key));
    await waiting;
    await expect(test.engine.burnBatch(burns, call(key))).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
    });
    release();
    await first;
    expect(await burned()).toBe('3');
  });

  it('lets only one of many begin', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () => engineBeside(test).burn(aBurnRequest(1), call('key-1'))),
    );
    const values = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.value.txHash] : []));
    const codes = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    expect(new Set(values).size).toBe(1);
    expect(new Set(codes)).toEqual(new Set(['ERR_DUPLICATE_IDEMPOTENCY_KEY']));
    expect(await burned()).toBe('1');
  });
});

describe('requests without a key', () => {
  it('are each a request of their own', async () => {
    const [first, second] = await Promise.all([
      test.engine.burn(aBurnRequest(1), test.project.call()),
      test.engine.burn(aBurnRequest(1), test.project.call()),
    ]);
    expect(first.value.txHash).not.toBe(second.value.txHash);
    expect(await burned()).toBe('2');
  });
});
