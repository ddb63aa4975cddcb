/** Leases: prolonged during the work; an engine that lost its lease sends nothing more. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Waiting } from '../../../src/contract/call.js';
import { LEASE_MS } from '../../../src/engine/lease.js';
import { HandClock } from '../../support/chain.js';
import { chainOver, replacing } from '../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../support/engine.js';

let test: TestEngine;
let clock: HandClock;
beforeEach(async () => {
  clock = new HandClock();
  test = await openTestEngine({}, { clock });
});
afterEach(() => test.destroy());

function gate() {
  let open = (): void => undefined;
  let reach = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return { opened, reached, open, reach };
}

/** An engine whose process pauses after this many writes; counts what it sends afterwards. */
function sleeper(writes: number) {
  const { opened, reached, open, reach } = gate();
  let written = 0;
  let sent = 0;
  const { store, chain } = test;
  const engine = engineBeside(test, {
    store: replacing(store, {
      transaction: async (work) => {
        const result = await store.transaction(work);
        written += 1;
        if (written === writes) {
          reach();
          await opened;
        }
        return result;
      },
    }),
    chain: chainOver(chain, {
      submit: (transactions, areNew) => {
        if (written >= writes) sent += 1;
        return chain.submit(transactions, areNew);
      },
      submitBundles: (bundles, areNew) => {
        if (written >= writes) sent += 1;
        return chain.submitBundles(bundles, areNew);
      },
    }),
  });
  return { engine, reached, wake: open, sent: () => sent };
}

describe('an engine that stood still until another took over', () => {
  it('sends nothing of its burn any more', async () => {
    const asleep = sleeper(1);
    const call = test.project.call({ idempotencyKey: 'key-1' });
    const lost = asleep.engine.burn(aBurnRequest(1), call);
    await asleep.reached;
    clock.timeMs += LEASE_MS + 1;
    const { value } = await engineBeside(test).burn(aBurnRequest(1), call);
    asleep.wake();
    await expect(lost).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    expect(asleep.sent()).toBe(0);
    expect((await test.engine.burn(aBurnRequest(1), call)).value).toEqual(value);
    expect((await test.engine.status()).burned).toBe('1');
  });

  it('writes no outcome of its burn any more', async () => {
    const { opened, reached, open, reach } = gate();
    const { chain } = test;
    const standing = chainOver(chain, {
      submit: async (...sent) => {
        const receipt = await chain.submit(...sent);
        reach();
        await opened;
        return receipt;
      },
    });
    const call = test.project.call({ idempotencyKey: 'key-1' });
    const lost = engineBeside(test, { chain: standing }).burn(aBurnRequest(1), call);
    await reached;
    clock.timeMs += LEASE_MS + 1;
    const { value } = await engineBeside(test).burn(aBurnRequest(1), call);
    open();
    await expect(lost).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    expect((await test.engine.burn(aBurnRequest(1), call)).value).toEqual(value);
    expect(await test.store.read((tx) => tx.rules.burned(test.project.registration.tokenId))).toBe(
      1_000_000n,
    );
  });

  it.each([1, 2, 3])('sends nothing of its batch any more, after %i writes of it', async (writes) => {
    const pipelines = [aPipeline([burnAction(5)])];
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const request = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
    const asleep = sleeper(writes);
    const lost = asleep.engine.executeBatch(request, test.project.call());
    await asleep.reached;
    clock.timeMs += LEASE_MS + 1;
    const other = engineBeside(test);
    const { result } = (await other.executeBatch(request, test.project.call())).value;
    asleep.wake();
    await expect(lost).rejects.toMatchObject({ code: 'ERR_BATCH_IN_PROGRESS' });
    expect(asleep.sent()).toBe(0);
    expect(result.totalSuccessful).toBe(1);
    expect((await test.engine.status()).burned).toBe('5');
  });

  it('goes on where nobody has', async () => {
    const asleep = sleeper(1);
    const burning = asleep.engine.burn(aBurnRequest(1), test.project.call({ idempotencyKey: 'key-1' }));
    await asleep.reached;
    clock.timeMs += LEASE_MS + 1;
    asleep.wake();
    expect((await burning).value.result).toBe('SUCCESS');
    expect(asleep.sent()).toBe(1);
  });
});

/** An engine on a chain that reports nothing about sent transactions until released. */
function waiting() {
  const { chain } = test;
  const { reached, reach } = gate();
  let isSilent = true;
  const silent = chainOver(chain, {
    pollMs: 1,
    trace: async (sought) => {
      if (!isSilent) return chain.trace(sought);
      reach();
      return sought.map(() => ({ kind: 'open' }) as const);
    },
  });
  const speak = (): void => {
    isSilent = false;
  };
  return { engine: engineBeside(test, { chain: silent }), reached, speak };
}

describe('a lease', () => {
  it('is lost where the data is on another line of history', async () => {
    const { store } = test;
    const moved = replacing(store, {
      transaction: (work, of) => store.transaction((tx) => work(replacing(tx, { lineage: 'another' })), of),
    });
    const call = test.project.call({ idempotencyKey: 'key-1' });
    const lost = engineBeside(test, { store: moved }).burn(aBurnRequest(1), call);
    await expect(lost).rejects.toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    clock.timeMs += LEASE_MS + 1;
    expect((await test.engine.burn(aBurnRequest(1), call)).value.result).toBe('SUCCESS');
    expect((await test.engine.status()).burned).toBe('1');
  });

  it('is kept by a timer, without anything being written for the work', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const { engine, reached, speak } = waiting();
      const call = test.project.call({ idempotencyKey: 'key-1' });
      const burning = engine.burn(aBurnRequest(1), call);
      await reached;
      const other = engineBeside(test);
      for (let quarters = 0; quarters < 12; quarters += 1) {
        clock.timeMs += LEASE_MS / 4;
        vi.advanceTimersByTime(LEASE_MS / 4);
        // The next writer comes after the timer.
        await test.store.transaction(async () => undefined);
        await expect(other.burn(aBurnRequest(1), call)).rejects.toMatchObject({
          code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
        });
      }
      speak();
      expect((await burning).value.result).toBe('SUCCESS');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a chain that does not say what became of a burn', () => {
  it('is waited for until the caller gives up, is told to who asks meanwhile, and the same key carries on', async () => {
    const { chain } = test;
    const heard: Waiting[] = [];
    const patience = new AbortController();
    let isSilent = true;
    const silent = chainOver(chain, {
      pollMs: 1,
      trace: async (sought) =>
        isSilent
          ? sought.map(() => ({ kind: 'open', progress: { slot: 7, isRun: false } }) as const)
          : chain.trace(sought),
    });
    const engine = engineBeside(test, { chain: silent });
    const { reached, reach } = gate();
    const onWaiting = (waiting: Waiting): void => {
      heard.push(waiting);
      if (heard.length === 3) reach();
    };
    const call = test.project.call({ idempotencyKey: 'key-1', signal: patience.signal, onWaiting });
    const burning = engine.burn(aBurnRequest(1), call);
    await reached;
    const { signature } = heard[0] as { readonly signature: string };
    await expect(engine.burn(aBurnRequest(1), call)).rejects.toMatchObject({
      code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY',
      message: `A request with the idempotency key key-1 is still running, waiting for the chain to confirm 1 transaction, ${signature} first.`,
    });
    patience.abort();
    await expect(burning).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    expect(heard[0]).toMatchObject({ transactions: 1, slot: 7, isRun: false });
    isSilent = false;
    const { value } = await engine.burn(aBurnRequest(1), test.project.call({ idempotencyKey: 'key-1' }));
    expect(value.txHash).toBe(signature);
    expect((await test.engine.status()).burned).toBe('1');
  });
});
