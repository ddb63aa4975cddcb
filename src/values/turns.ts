/** Turns of the event loop: giving them away, and taking them one at a time, so that what is quick need not wait for all that is long. */
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

const queue: (() => void)[] = [];
let isTaken = false;

function passOn(): void {
  const next = queue.shift();
  isTaken = next !== undefined;
  if (next === undefined) return;
  globalThis.setImmediate(passOn);
  next();
}

/**
 * Of all who ask in this process one goes on in each turn of the event loop, the first at once, the others in the order of asking. Work
 * that comes in pieces asks before each, so that between two of them the sockets are looked at: a request that is answered
 * at once waits for one piece, and not for as many as there are.
 */
export function ownTurn(): Promise<void> {
  if (isTaken) return new Promise((resolve) => queue.push(resolve));
  isTaken = true;
  globalThis.setImmediate(passOn);
  return Promise.resolve();
}
