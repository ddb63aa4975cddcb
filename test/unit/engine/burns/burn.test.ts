/** The stored answer of a burn-batch. */
import { afterEach, describe, expect, it } from 'vitest';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { jsonText } from '../../../../src/values/exact-number.js';
import { randomIds } from '../../../../src/values/ids.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const burnBatch = (requests: unknown, key: string = randomIds.uuid()) =>
  test.engine.burnBatch(requests as BurnRequest[], test.project.call({ idempotencyKey: key }));

describe('burnBatch', () => {
  it('stores no refused proof, and repeats the answer all the same', async () => {
    test = await openTestEngine();
    const requests = Array.from({ length: 20 }, (_, index) => ({
      ...aBurnRequest(1, { proof: { index, note: 'x'.repeat(50_000) } }),
      ...(index % 2 === 0 ? { type: `UNKNOWN ${'y'.repeat(10_000)}` } : {}),
    }));
    const key = randomIds.uuid();
    const first = await burnBatch(requests, key);
    expect([first.value.success.length, first.value.errors.length]).toEqual([10, 10]);
    const stored = await test.store.read(async (tx) => {
      const [token] = await tx.tokens.list();
      return tx.requests.find({ tokenId: token?.id ?? '', operation: 'burnBatch', value: key });
    });
    expect(stored?.reply?.length).toBeLessThan(10_000);
    const repeat = await burnBatch(requests, key);
    expect([repeat.meta.replayed, jsonText(repeat.value)]).toEqual([true, jsonText(first.value)]);
  });
});
