/** Store contract: visibility and waiting between transactions. */
import { describe, expect, it } from 'vitest';
import type { StoreUnderTest } from '../../support/store.js';
import { aBurn, aRequest, numbersOf } from './records.js';

export function transactions(under: () => StoreUnderTest): void {
  describe('transactions', () => {
    const request = (id: string) => aRequest({ id, value: id });

    it('rolls back everything when the work throws, and throws the same', async () => {
      const { store } = under();
      const reason = new RangeError('no');
      const work = store.transaction(async (tx) => {
        await tx.requests.insert(request('gone'));
        await tx.burns.insertMany(aRequest(), [aBurn(1)]);
        throw reason;
      });
      await expect(work).rejects.toBe(reason);
      expect(await store.read((tx) => tx.requests.find({ id: 'gone' }))).toBeUndefined();
      expect(await store.read((tx) => tx.burns.ofRequest('request-1'))).toStrictEqual([]);
    });

    it('does what waits for a commit once others can read it, in order, and never after a rollback', async () => {
      const { store } = under();
      const done: string[] = [];
      let read: Promise<unknown> | undefined;
      const result = await store.transaction(async (tx) => {
        tx.whenCommitted(() => {
          done.push('first');
          read = store.read((other) => other.requests.find({ id: 'kept' }));
        });
        tx.whenCommitted(() => done.push('second'));
        await tx.requests.insert(request('kept'));
        expect(done).toStrictEqual([]);
        return 'result';
      });
      expect(result).toBe('result');
      expect(done).toStrictEqual(['first', 'second']);
      expect(await read).toStrictEqual(request('kept'));
      const undone = store.transaction(async (tx) => {
        tx.whenCommitted(() => done.push('third'));
        throw new RangeError('no');
      });
      await expect(undone).rejects.toThrow('no');
      expect(done).toStrictEqual(['first', 'second']);
    });

    it('runs one after the other, in the order of asking', async () => {
      const { store } = under();
      const events: string[] = [];
      const run = (name: string) =>
        store.transaction(async (tx) => {
          events.push(`${name} begins`);
          await tx.requests.insert(request(name));
          await new Promise(setImmediate);
          await tx.requests.find({ id: name });
          events.push(`${name} ends`);
        });
      await Promise.all(['a', 'b', 'c'].map(run));
      expect(events).toStrictEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    });

    it('reads a consistent state while another writes, without waiting for it', async () => {
      const { store } = under();
      await store.transaction(async (tx) => {
        await tx.requests.insert(request('new'));
        expect(await store.read((other) => other.requests.find({ id: 'new' }))).toBeUndefined();
        expect(await tx.requests.find({ id: 'new' })).toBeDefined();
      });
      const seen = await store.read(async (tx) => {
        const before = await tx.requests.find({ id: 'newer' });
        await store.transaction((other) => other.requests.insert(request('newer')));
        return [before, await tx.requests.find({ id: 'newer' })];
      });
      expect(seen).toStrictEqual([undefined, undefined]);
      expect(await store.read((tx) => tx.requests.find({ id: 'newer' }))).toStrictEqual(request('newer'));
    });

    it('refuses to write in a read', async () => {
      const { store } = under();
      await expect(store.read((tx) => tx.requests.insert(request('x')))).rejects.toThrow();
      expect(await store.read((tx) => tx.requests.find({ id: 'x' }))).toBeUndefined();
    });

    it('refuses use after the end, so that nothing slips into the next transaction', async () => {
      const { store } = under();
      const kept = await store.transaction(async (tx) => tx);
      await store.transaction(async () => {
        await expect(kept.requests.insert(request('late'))).rejects.toThrow('already committed');
      });
      expect(await store.read((tx) => tx.requests.find({ id: 'late' }))).toBeUndefined();
    });

    it('shares its data with another store: numbers, caps and keys are given out once', async () => {
      const { store, openAgain } = under();
      const other = await openAgain();
      const numbers = await Promise.all(
        [store, other, store, other, store, other].map(async (each) => {
          const own = await numbersOf(each, 10);
          await each.transaction((tx) => tx.burns.insertMany(aRequest(), [aBurn(own[0] ?? 0)]));
          return own;
        }),
      );
      expect(numbers.flat().toSorted((a, b) => a - b)).toStrictEqual(
        Array.from({ length: 60 }, (_, at) => at + 1),
      );
      const inserts = await Promise.all(
        [store, other].map((each, index) =>
          each.transaction((tx) => tx.requests.insert(aRequest({ id: `twin-${index}`, value: 'twin' }))),
        ),
      );
      expect(inserts.toSorted()).toStrictEqual([false, true]);
    });

    it('gives up when another store holds the lock too long, and works again afterwards', async () => {
      const { store, openAgain } = under();
      // The time that opening a connection may take on a busy machine.
      const hasty = await openAgain({ busyTimeoutMs: 500 });
      await store.transaction(async (tx) => {
        await tx.requests.insert(request('slow'));
        await expect(hasty.transaction((other) => other.requests.find({ id: 'slow' }))).rejects.toMatchObject(
          {
            code: 'ERR_STORE_UNAVAILABLE',
            message: expect.stringMatching(/ is locked by another process \(waited 0\.5 s\)\.$/),
          },
        );
        expect(await hasty.read((other) => other.requests.find({ id: 'slow' }))).toBeUndefined();
      });
      expect(await hasty.transaction((tx) => tx.requests.find({ id: 'slow' }))).toStrictEqual(
        request('slow'),
      );
    });

    it('gives up waiting for a transaction of its own that does not end', async () => {
      const { openAgain } = under();
      const hasty = await openAgain({ busyTimeoutMs: 1_000 });
      await hasty.transaction(async () => {
        await expect(hasty.transaction((tx) => tx.projects.list())).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringMatching(
            / is locked by (?:another transaction|earlier transactions) of this process/,
          ),
        });
      });
      expect(await hasty.transaction((tx) => tx.projects.list())).toHaveLength(1);
    });

    it('waits for the running transaction when it is closed, and is of no use afterwards', async () => {
      const store = await under().openAgain();
      const running = store.transaction(async (tx) => {
        await new Promise(setImmediate);
        await tx.requests.insert(request('last'));
      });
      await store.close();
      await store.close();
      await running;
      for (const use of [store.transaction, store.read]) {
        await expect(use((tx) => tx.projects.list())).rejects.toMatchObject({
          code: 'ERR_STORE_UNAVAILABLE',
          message: expect.stringMatching(/ is closed\.$/),
        });
      }
      expect(await under().store.read((tx) => tx.requests.find({ id: 'last' }))).toStrictEqual(
        request('last'),
      );
    });
  });
}
