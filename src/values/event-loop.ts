/** Work beside other work: turns of the event loop that are given away, so that what is quick need not wait, and many things at a time. */
import { setImmediate } from 'node:timers/promises';

/**
 * Turns of the event loop that are given away together. In one turn the system's queue of new connections moves on by one
 * only (libuv accepts one each time it looks), so that with a single turn the tenth in the queue would wait ten times as long.
 */
const TURNS = 16;

/** Resolves once others have had their turns. */
export async function giveTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
}

/**
 * Runs work for every item, so many at a time, up to the first that fails.
 * @returns the results, in order. @throws what the first threw, once all that was begun is over.
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Array<Result>(items.length);
  const failures: unknown[] = [];
  const queue = items.entries();
  const run = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failures.length > 0) return;
      try {
        results[index] = await work(item, index);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, run));
  if (failures.length > 0) throw failures[0];
  return results;
}
