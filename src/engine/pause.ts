/** Long work in small pieces: between two of them everybody else in this process has a turn. */
import { giveTurns } from '../values/event-loop.js';

/** Longest time that one piece may take; others wait no longer than a few of these. */
const TURN_MS = 5;

/** All that an iterator makes, one after the other, with turns for others in between. */
export async function inTurns<Value>(values: Iterable<Value>): Promise<readonly Value[]> {
  const pause = createPause();
  const all: Value[] = [];
  for (const value of values) {
    all.push(value);
    await pause();
  }
  return all;
}

/** @returns a function to await between pieces; it gives the turn away once the pieces so far have taken long enough. */
export function createPause(): () => Promise<void> | undefined {
  let turnEndsMs = performance.now() + TURN_MS;
  return () => {
    if (performance.now() < turnEndsMs) return undefined;
    return giveTurns().then(() => {
      turnEndsMs = performance.now() + TURN_MS;
    });
  };
}
