/** Burns that a fork has taken back: pending again, and their request has no answer until they have landed once more. */
import type { WatchedLanding } from '../../store/records.js';
import { dayOfUse } from '../daily-cap.js';
import type { EngineDeps } from '../deps.js';
import { isWorkedOn } from '../lease.js';

/**
 * Leaves a request alone that somebody works on, whose answer would not know; and one of which another engine has taken up
 * everything before this one.
 */
export async function reopenBurns(
  deps: EngineDeps,
  requestId: string,
  undone: readonly WatchedLanding[],
): Promise<void> {
  const [project] = undone;
  if (project === undefined) return;
  await deps.store.transaction(async (tx) => {
    const request = await tx.requests.get(requestId);
    if (request?.status === 'running' && isWorkedOn(tx, request)) return;
    const burns = await tx.burns.ofRequest(requestId);
    let isReopened = false;
    for (const landing of undone) {
      const burn = burns.find(({ sequence }) => sequence === landing.sequence);
      const isSame = burn !== undefined && landing.signature === burn.signature;
      if (!isSame || burn.status !== 'SUCCESS' || burn.dateSettled === null) continue;
      await tx.landings.reopenBurn(burn.sequence);
      const day = dayOfUse(burn.day, Date.parse(burn.dateSettled));
      await tx.usage.addLanded({ tokenId: burn.tokenId, day, kind: 'burn' }, -burn.amount);
      isReopened = true;
    }
    if (isReopened) await tx.requests.reopen(requestId);
  }, project);
}
