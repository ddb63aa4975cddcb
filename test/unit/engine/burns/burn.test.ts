/** What only a caller in this process sees of the two burn operations, and what is stored of them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { BurnRequest } from '../../../../src/contract/schemas/burn.js';
import { randomIds } from '../../../../src/values/ids.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const burnBatch = (requests: unknown, key: string = randomIds.uuid()) =>
  test.engine.burnBatch(requests as BurnRequest[], test.project.call({ idempotencyKey: key }));

describe('burnBatch', () => {
  it('tells of each element as it ends, in the order of the request', async () => {
    test = await openTestEngine();
    const seen: unknown[] = [];
    await test.engine.burnBatch(
      [aBurnRequest(1), aBurnRequest(2, { type: 'OTHER' }), aBurnRequest(1), aBurnRequest(1)],
      test.project.call({
        idempotencyKey: randomIds.uuid(),
        onElement: ({ index, status }) => seen.push([index, status]),
      }),
    );
    expect(seen).toEqual([
      [0, 'success'],
      [1, 'error'],
      [2, 'success'],
      [3, 'success'],
    ]);
  });

  it('stops between intents when aborted, keeps what was done, and carries on', async () => {
    test = await openTestEngine();
    const abort = new AbortController();
    const key = randomIds.uuid();
    const requests = Array.from({ length: 300 }, () => aBurnRequest(1));
    const call = test.project.call({
      idempotencyKey: key,
      signal: abort.signal,
      onElement: () => abort.abort(),
    });
    await expect(test.engine.burnBatch(requests, call)).rejects.toMatchObject({ code: 'ERR_INTERRUPTED' });
    const { burned } = await test.engine.status();
    expect(Number(burned)).toBeGreaterThan(0);
    expect(Number(burned)).toBeLessThan(300);
    const { value } = await burnBatch(requests, key);
    expect(value.success).toHaveLength(300);
    expect((await test.engine.status()).burned).toBe('300');
  });
});
