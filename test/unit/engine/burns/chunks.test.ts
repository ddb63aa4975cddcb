/** More burns than one chunk holds, on a slow chain: the records are the same as with one chunk. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Chain } from '../../../../src/chain/chain.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { randomIds } from '../../../../src/values/ids.js';
import { chainOver } from '../../../support/doubles.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const burns = (count: number) => Array.from({ length: count }, (_, index) => aBurnRequest(index + 1));
const sumTo = (count: number): number => (count * (count + 1)) / 2;
const aCall = () => test.project.call({ idempotencyKey: randomIds.uuid() });
const engineOn = (more: Partial<Chain> = {}) =>
  engineBeside(test, { chain: chainOver(test.chain, { pollMs: 1, ...more }) });

describe('a request of several chunks', () => {
  it('sends so many at a time, tells of each once it is stored, and answers in order', async () => {
    test = await openTestEngine();
    const [sizes, told]: [number[], number[]] = [[], []];
    const engine = engineOn({
      submit: (transactions, areNew) => {
        sizes.push(transactions.length);
        return test.chain.submit(transactions, areNew);
      },
    });
    const stored = async () => (await test.engine.listBurns({ status: 'SUCCESS', limit: 1 }, aCall())).value;
    const checks: Promise<unknown>[] = [];
    const call = {
      ...aCall(),
      onElement: ({ index }: { index: number }) => {
        if (told.length === 0) checks.push(stored().then(({ items }) => expect(items).toHaveLength(1)));
        told.push(index);
      },
    };
    const { value } = await engine.burnBatch(burns(300), call);
    await Promise.all(checks);
    expect(value.errors).toEqual([]);
    expect(told).toEqual(Array.from({ length: 300 }, (_, index) => index));
    expect(sizes).toEqual([256, 44]);
    expect((await test.engine.status()).burned).toBe(String(sumTo(300)));
  });

  it.each([
    [sumTo(260), 260],
    [sumTo(260) - 1, 259],
  ])('burns a wallet with %i to the end, and no more', async (tokens, landed) => {
    test = await openTestEngine({ burnWalletTokens: String(tokens) });
    const { value } = await engineOn().burnBatch(burns(260), aCall());
    expect([value.success.length, value.errors.length]).toEqual([landed, 260 - landed]);
    expect((await test.engine.status()).burned).toBe(String(sumTo(landed)));
  });

  it('begins no other after an interrupt, and the next run finds what was sent', async () => {
    test = await openTestEngine();
    const interrupt = new AbortController();
    let submits = 0;
    const engine = engineOn({
      submit: async (transactions, areNew) => {
        submits += 1;
        interrupt.abort(new FlywheelError('ERR_INTERRUPTED', 'Interrupted.'));
        return test.chain.submit(transactions, areNew);
      },
    });
    const call = aCall();
    const cut = engine.burnBatch(burns(300), { ...call, signal: interrupt.signal });
    await expect(cut).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    expect(submits).toBe(1);
    const { value } = await test.engine.burnBatch(burns(300), call);
    expect(value.success).toHaveLength(300);
    expect((await test.engine.status()).burned).toBe(String(sumTo(300)));
  });
});
