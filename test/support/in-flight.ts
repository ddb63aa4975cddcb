/** A copy of a store that was imported or restored is written once all has expired that its source may have sent. */
import { setTimeout } from 'node:timers/promises';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';

const POLL_MS = 20;

/** Asks again for as long as something may land. */
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
