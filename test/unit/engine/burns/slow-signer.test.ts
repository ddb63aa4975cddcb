/** A burn wallet that signs slowly: other work continues, and a signature that is not stored is never sent. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Signer } from '../../../../src/chain/transaction/sign.js';
import type { ReadonlyBytes } from '../../../../src/values/bytes.js';
import { randomIds } from '../../../../src/values/ids.js';
import { aBurnRequest, engineBeside, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

/** An engine on the same store, whose signers call `before` first. */
function engineWith(before: (messages: readonly ReadonlyBytes[]) => Promise<void>) {
  const { keyring } = test.deps;
  const slow = (signer: Signer): Signer => ({
    address: signer.address,
    async signAll(messages) {
      await before(messages);
      return signer.signAll(messages);
    },
  });
  return engineBeside(test, {
    keyring: { create: () => keyring.create(), get: (address) => slow(keyring.get(address)) },
  });
}

const burnedBy = async (): Promise<string> => (await test.engine.status()).burned;

describe('a burn wallet that takes its time to sign', () => {
  it('lets others write meanwhile, and burns', async () => {
    test = await openTestEngine();
    const engine = engineWith(async () => {
      await test.engine.burn(aBurnRequest(2), test.project.call());
    });
    const { value } = await engine.burn(aBurnRequest(1), test.project.call());
    expect(value.result).toBe('SUCCESS');
    expect(await burnedBy()).toBe('3');
  });

  it('does not send what others have left no room for under the cap', async () => {
    test = await openTestEngine({ dailyBurn: '5' });
    const engine = engineWith(async () => {
      await test.engine.burn(aBurnRequest(4), test.project.call());
    });
    await expect(engine.burn(aBurnRequest(2), test.project.call())).rejects.toMatchObject({
      code: 'ERR_DAILY_LIMIT_EXCEEDED',
    });
    expect(await burnedBy()).toBe('4');
  });

  it('is asked for nothing that balance and cap refuse', async () => {
    test = await openTestEngine({ dailyBurn: '5' });
    const asked: number[] = [];
    const engine = engineWith(async ({ length }) => void asked.push(length));
    const elements = [aBurnRequest(4), aBurnRequest(2), aBurnRequest(1)];
    const { value } = await engine.burnBatch(
      elements,
      test.project.call({ idempotencyKey: randomIds.uuid() }),
    );
    expect([value.success.length, value.errors.length]).toEqual([2, 1]);
    expect(asked).toEqual([2]);
    expect(await burnedBy()).toBe('5');
  });
});
