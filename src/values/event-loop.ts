/** Turns of the event loop that long work gives away, so that what is quick need not wait for all of it. */
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
