/**
 * What has landed is watched until no fork can take it back. What one has taken back is an intent again, and is carried to its end
 * as every intent is: the same bytes while they are good, then signed once more.
 */
import type { Finality } from '../../chain/chain.js';
import type { RecoveryScope } from '../../contract/recovery.js';
import type { WatchedLanding } from '../../store/records.js';
import { dayOfUse } from '../daily-cap.js';
import type { EngineDeps } from '../deps.js';
import { isWorkedOn } from '../lease.js';

/**
 * Looks at burns that have landed and are not final: stops watching those that are, and takes up again what was taken back, where
 * nobody works on it.
 * @returns how many were taken back.
 * @throws `ERR_UNAVAILABLE` when the chain is out of reach; nothing has changed then.
 */
export async function watchLandings(
  deps: EngineDeps,
  { tokenId = null }: RecoveryScope = {},
): Promise<number> {
  const { chain, store } = deps;
  if (chain.pollMs === null) return 0;
  const all = await store.read((tx) => tx.landings.waiting());
  const landings = all.filter((landing) => tokenId === null || landing.tokenId === tokenId);
  if (landings.length === 0) return 0;
  const found = await chain.finality(landings);
  const of = (finality: Finality) => landings.filter((_, index) => found[index] === finality);
  const final = of('final');
  if (final.length > 0) await store.transaction((tx) => tx.landings.forget(final), { tokenId: null });
  const undone = of('undone');
  for (const id of new Set(undone.map(({ requestId }) => requestId)))
    await reopenBurns(
      deps,
      id,
      undone.filter(({ requestId }) => requestId === id),
    );
  return undone.length;
}

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
