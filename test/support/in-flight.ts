/** A copy of a store that was imported or restored is written once all has expired that its source may have sent. */
import { setTimeout } from 'node:timers/promises';
import type { Chain } from '../../src/chain/chain.js';
import { requireExpired } from '../../src/engine/gaps/gap-watch.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import type { Store } from '../../src/store/store.js';

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

export const untilExpired = (place: { readonly store: Store; readonly chain: Chain }): Promise<string> =>
  whenExpired(() => requireExpired(place));
