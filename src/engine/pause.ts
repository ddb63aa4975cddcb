/** Splits long synchronous work, so that the event loop serves other work in between. */
import { giveTurns } from '../values/event-loop.js';

const TURN_MS = 5;

export async function inTurns<Value>(values: Iterable<Value>): Promise<readonly Value[]> {
  const pause = createPause();
  const all: Value[] = [];
  for (const value of values) {
    all.push(value);
    await pause();
  }
  return all;
}

/** @returns a function to await between pieces; it yields to the event loop after {@link TURN_MS}. */
export function createPause(): () => Promise<void> | undefined {
  let turnEndsMs = performance.now() + TURN_MS;
  return () => {
    if (performance.now() < turnEndsMs) return undefined;
    return giveTurns().then(() => {
      turnEndsMs = performance.now() + TURN_MS;
    });
  };
}
