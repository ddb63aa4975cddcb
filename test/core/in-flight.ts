/** An imported or restored copy of a store becomes writable once everything its source may have sent has expired. */
import { setTimeout } from 'node:timers/promises';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';

const POLL_MS = 20;

/** Repeats the call while transactions of the source may still land. */
export async function whenExpired<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_UNAVAILABLE')) throw error;
    }
    await setTimeout(POLL_MS);
  }
}
