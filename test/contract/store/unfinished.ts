/** Store contract: unfinished work for another process. */
import { expect, it } from 'vitest';
import type { StoreUnderTest } from '../../support/store.js';
import { aBurn, aRequest } from './records.js';

export function unfinished(under: () => StoreUnderTest): void {
  it('finds requests with pending burns, the oldest first, of one project or of all', async () => {
    const { store } = under();
    await store.transaction(async (tx) => {
      for (const [at, id] of ['b', 'a', 'none'].entries()) {
        await tx.requests.insert(aRequest({ id, value: id }));
        const burns = [2 * at + 1, 2 * at + 2].map((sequence, index) => aBurn(sequence, { index }));
        if (id !== 'none') await tx.burns.insertMany(aRequest({ id }), burns);
      }
    });
    const found = await store.read(async ({ unfinished: left }) => [
      (await left.all('token-2')).burns,
      (await left.all('token-1')).burns,
      (await left.all()).burns,
    ]);
    expect(found).toEqual([[], ['b', 'a'], ['b', 'a']]);
  });
}
