/** Long synchronous work in pieces, and bounded parallelism. */
import { setImmediate } from 'node:timers/promises';

const TURN_MS = 5;

/** @returns a function to await between pieces; it yields to the event loop after {@link TURN_MS}. */
export function createPause(): () => Promise<void> | undefined {
  let turnEndsMs = performance.now() + TURN_MS;
  return () => {
    if (performance.now() < turnEndsMs) return undefined;
    return setImmediate().then(() => {
      turnEndsMs = performance.now() + TURN_MS;
    });
  };
}

/**
 * Runs `work` for every item, at most `width` at a time, until the first failure.
 * @returns results in order. @throws the first error, after all started work has ended.
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
