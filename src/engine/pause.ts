/** Long work in small pieces: between two of them whoever else waits in this process has a turn. */
import type { Pause } from '../values/digest.js';
import { giveTurns } from '../values/turns.js';

/** Longest time that one piece may take; others wait no longer than a few of these. */
const TURN_MS = 5;

/** @returns a function to await between pieces; it gives the turn away once the pieces so far have taken long enough. */
export function createPause(): Pause {
  let turnEndsMs = performance.now() + TURN_MS;
  return () => {
    if (performance.now() < turnEndsMs) return undefined;
    return giveTurns().then(() => {
      turnEndsMs = performance.now() + TURN_MS;
    });
  };
}
