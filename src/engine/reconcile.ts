/** What an engine that died left pending: looked up, and settled or carried to its end. */

import { isFlywheelError } from '../errors/flywheel-error.js';
import type { RequestRecord } from '../store/records.js';
import { utcDay } from '../values/time.js';
import { settleBurns, writeOutcomes } from './burns/chunk.js';
import type { EngineDeps } from './deps.js';
import { watchLandings } from './landings/watch.js';
import { underLease } from './lease.js';
import { abandonRequest, claimRequest, isWorkedOn, requestHolding } from './requests/requests.js';

export interface Reconciled {
  /** Burns that have an outcome now. */
  readonly burns: number;
  /** Requests that had some. */
  readonly requests: number;
}

/**
 * Forgets answers that are older than the retention, and settles the pending burns of requests that nobody works on. Their requests stay open: a client that brings one again
 * gets its answer, with what was left of it done.
 */
export async function reconcile(deps: EngineDeps): Promise<Reconciled> {
  await deps.store.transaction(async (tx) => {
    await tx.requests.noteDay(utcDay(deps.clock.nowMs()));
    await tx.requests.removeDone(deps.limits.idempotencyRetentionDays);
  });
  await watchLandings(deps);
  const running = await deps.store.read((tx) => tx.requests.running());
  let burns = 0;
  let requests = 0;
  for (const request of running) {
    const settled = await settleRequest(deps, request);
    burns += settled;
    if (settled > 0) requests += 1;
  }
  return { burns, requests };
}

async function settleRequest(deps: EngineDeps, request: RequestRecord): Promise<number> {
  const taken = await deps.store.transaction(async (tx) => {
    const current = await tx.requests.get(request.id);
    if (current?.status !== 'running' || isWorkedOn(deps, current)) return undefined;
    const pending = (await tx.burns.ofRequest(request.id)).filter(({ status }) => status === 'PENDING');
    const key = await tx.apiKeys.get(request.keyId);
    const token = key === undefined ? undefined : await tx.tokens.get(key.tokenId);
    if (pending.length === 0 || token === undefined) return undefined;
    return { pending, token, request: await claimRequest(deps, tx, current) };
  });
  if (taken === undefined) return 0;
  try {
    return await underLease(deps, requestHolding(taken.request), {}, async (lease) => {
      const settled = await settleBurns({ deps, token: taken.token }, taken.pending, {
        areNew: false,
        lease,
      });
      await deps.store.transaction(async (tx) => {
        await lease.renew(tx);
        await writeOutcomes(tx, taken.token.id, settled);
      });
      return settled.length;
    });
  } catch (error) {
    // Another engine has taken the request, and settles it.
    if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return 0;
    throw error;
  } finally {
    await abandonRequest(deps, request);
  }
}
