/** Burns of one request on a chain that takes its time: several chunks are on their way at once, and the books are as if they were not. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Chain } from '../../../../src/chain/chain.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { randomIds } from '../../../../src/values/ids.js';
import { chainOver } from '../../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

/** A chain that says of nothing that it has landed until `until` is true, and what it was given meanwhile. */
function slowChain(until: (submits: number) => boolean, more: Partial<Chain> = {}) {
  const seen = { submits: 0, mostAtOnce: 0, open: 0 };
  const chain = chainOver(test.chain, {
    pollMs: 1,
    submit: async (transactions, areNew) => {
      seen.submits += 1;
      seen.open += transactions.length;
      seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.open);
      return test.chain.submit(transactions, areNew);
    },
    trace: async (sought) => {
      if (!until(seen.submits)) return sought.map(() => ({ kind: 'open' as const }));
      seen.open -= sought.length;
      return test.chain.trace(sought);
    },
    ...more,
  });
  return { chain, seen };
}

const burns = (count: number) => Array.from({ length: count }, (_, index) => aBurnRequest(index + 1));
const sumTo = (count: number): number => (count * (count + 1)) / 2;
const aCall = () => test.project.call({ idempotencyKey: randomIds.uuid() });

describe('a request of several chunks', () => {
  it('sends the next ones while the first are on their way, up to a bound, and answers in order', async () => {
    test = await openTestEngine();
    const { chain, seen } = slowChain((submits) => submits >= 4);
    const announced: number[] = [];
    const call = { ...aCall(), onElement: ({ index }: { index: number }) => void announced.push(index) };
    const { value } = await engineBeside(test, { chain }).burnBatch(burns(400), call);
    expect(value.errors).toEqual([]);
    expect(value.success.map(({ hash }) => hash)).toEqual([
      ...new Set(value.success.map(({ hash }) => hash)),
    ]);
    expect(announced).toEqual(Array.from({ length: 400 }, (_, index) => index));
    expect(seen.mostAtOnce).toBe(256);
    expect((await test.engine.status()).burned).toBe(String(sumTo(400)));
  });

  it('goes on one by one where the chain knows at once', async () => {
    test = await openTestEngine({}, { limits: { burnsPerCommit: 2 } });
    const { chain, seen } = slowChain(() => true, { pollMs: null });
    await engineBeside(test, { chain, limits: { ...test.deps.limits } }).burnBatch(burns(6), aCall());
    expect(seen).toMatchObject({ submits: 3, mostAtOnce: 2 });
  });

  it.each([
    [sumTo(100), 100],
    [sumTo(100) - 1, 99],
  ])('burns a wallet with %i to the end, and no more', async (tokens, landed) => {
    test = await openTestEngine({ burnWalletTokens: String(tokens) }, { limits: { burnsPerCommit: 16 } });
    const { chain } = slowChain(() => true);
    const { value } = await engineBeside(test, { chain }).burnBatch(burns(100), aCall());
    expect([value.success.length, value.errors.length]).toEqual([landed, 100 - landed]);
    expect((await test.engine.status()).burned).toBe(String(sumTo(landed)));
  });

  it('keeps to the cap of the day', async () => {
    const dailyBurn = String(sumTo(50));
    test = await openTestEngine({ dailyBurn }, { limits: { burnsPerCommit: 16 } });
    const { chain } = slowChain((submits) => submits >= 3);
    const { value } = await engineBeside(test, { chain }).burnBatch(burns(100), aCall());
    expect(value.success).toHaveLength(50);
    expect(value.errors.every(({ type }) => type === 'ERR_DAILY_LIMIT_EXCEEDED')).toBe(true);
    expect((await test.engine.status()).usedToday.burn).toBe(dailyBurn);
  });

  it('gives room to what comes later, where something on its way fails', async () => {
    // The second chunk only fits once the first has failed on chain.
    test = await openTestEngine({ dailyBurn: '900000' }, { limits: { burnsPerCommit: 1 } });
    let fails = true;
    const { chain } = slowChain(() => true, {
      submit: async (transactions, areNew) => {
        if (!fails) return test.chain.submit(transactions, areNew);
        fails = false;
        return [{ index: 0, error: { kind: 'transaction', error: 'AccountInUse' }, logs: [] }];
      },
    });
    const elements = [aBurnRequest(900_000), aBurnRequest(800_000), aBurnRequest(150_000)];
    const { value } = await engineBeside(test, { chain }).burnBatch(elements, aCall());
    expect(value.errors.map(({ type }) => type)).toEqual([
      'ERR_BURN_TOKENOMICS_FAILED',
      'ERR_DAILY_LIMIT_EXCEEDED',
    ]);
    expect((await test.engine.status()).burned).toBe('800000');
  });

  it('keeps what has become of the others when one chunk does not end', async () => {
    test = await openTestEngine({}, { limits: { burnsPerCommit: 16 } });
    let traces = 0;
    const { chain } = slowChain(() => true, {
      trace: async (sought) => {
        traces += 1;
        if (traces === 2) throw new FlywheelError('ERR_UNAVAILABLE', 'Out of reach.');
        return test.chain.trace(sought);
      },
    });
    const call = aCall();
    await expect(engineBeside(test, { chain }).burnBatch(burns(64), call)).rejects.toThrow('Out of reach');
    const { usedToday } = await test.engine.status();
    expect(Number(usedToday.burn)).toBeGreaterThan(0);
    const { value } = await test.engine.burnBatch(burns(64), call);
    expect(value.success).toHaveLength(64);
    expect((await test.engine.status()).burned).toBe(String(sumTo(64)));
  });

  it('begins no other after an interrupt, and the next run finds what was sent', async () => {
    test = await openTestEngine({}, { limits: { burnsPerCommit: 16 } });
    const interrupt = new AbortController();
    const { chain, seen } = slowChain(() => false, {
      submit: async (transactions, areNew) => {
        seen.submits += 1;
        if (seen.submits === 2) interrupt.abort(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.'));
        return test.chain.submit(transactions, areNew);
      },
    });
    const call = aCall();
    const cut = engineBeside(test, { chain }).burnBatch(burns(300), { ...call, signal: interrupt.signal });
    await expect(cut).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    // Those whose intents were being written go out; of a window of sixteen most are not begun.
    expect(seen.submits).toBeLessThan(16);
    const { value } = await test.engine.burnBatch(burns(300), call);
    expect(value.success).toHaveLength(300);
    expect((await test.engine.status()).burned).toBe(String(sumTo(300)));
  });
});
