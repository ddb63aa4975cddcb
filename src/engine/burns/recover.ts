/** Recovery of burns without a lease: pending burns get an outcome, confirmed burns are watched until finalized. */
import type { Trace } from '../../chain/chain.js';
import type { RecoveryScope } from '../../contract/admin.js';
import { invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps, Sources } from '../deps.js';
import { type Caller, isWorkedOn, underLease } from '../lease.js';
import { claimRequest, takenOver } from '../operation.js';
import { pendingOf, settleBurns, writeFinal, writeOutcomes } from './chunk.js';

/**
 * Looks up confirmed burns of one or all projects; sends nothing. A burn removed by a fork is sent again with the same bytes by
 * the caller; if these have expired, it becomes pending again.
 * @returns how many became pending again, and transactions that may be sent again.
 * @throws `ERR_UNAVAILABLE` when the chain is unreachable.
 */
export async function watchConfirmed(
  { chain, store }: Sources,
  { tokenId }: RecoveryScope = {},
): Promise<{ readonly reopened: number; readonly missing: readonly Uint8Array[] }> {
  const open = await store.read((tx) => tx.burns.open(tokenId ?? undefined));
  const burns = open.filter(({ status }) => status === 'CONFIRMED');
  if (burns.length === 0) return { reopened: 0, missing: [] };
  const traces = await chain.trace(
    burns.map(({ signature, transaction, lastValidBlockHeight }) => ({
      ...{ signature, bytes: transaction, lastValidBlockHeight, paysOnlyFee: true as const },
    })),
  );
  const those = (are: (trace: Trace) => boolean) => burns.filter((_, at) => are(traces[at] as Trace));
  const final = those((trace) => trace.kind === 'landed' && trace.isFinal && !hasFailed(trace));
  const undone = those((trace) => trace.kind === 'never' || hasFailed(trace));
  let reopened = 0;
  for (const project of new Set([...final, ...undone].map(({ tokenId: id }) => id))) {
    const own = (some: typeof burns) => some.filter((burn) => burn.tokenId === project);
    reopened += await store.transaction(
      async (tx) => {
        await writeFinal(tx, project, own(final));
        return reopen(tx, own(undone));
      },
      { tokenId: project },
    );
  }
  const missing = those((trace) => trace.kind === 'open' && trace.isOver !== true);
  return { reopened, missing: missing.map(({ transaction }) => transaction) };
}

/** A trace reports a failure only when finalized. */
const hasFailed = (trace: Trace): boolean => trace.kind === 'landed' && trace.record.error !== null;

/**
 * @returns the number reopened. Burns changed by another engine, or with a request under lease, are skipped: their worker would
 * not notice.
 */
async function reopen(tx: StoreTransaction, undone: readonly BurnRecord[]): Promise<number> {
  let reopened = 0;
  for (const burn of undone) {
    const request = await tx.requests.find({ id: burn.requestId });
    if (request?.status === 'running' && isWorkedOn(tx, request)) continue;
    if (!(await tx.burns.reopen(burn))) continue;
    await tx.requests.reopen(burn.requestId);
    reopened += 1;
  }
  return reopened;
}

export async function carryOnBurns(deps: EngineDeps, requestId: string, caller: Caller): Promise<number> {
  const { store } = deps;
  const pendingIn = async (tx: StoreTransaction) => pendingOf(await tx.burns.ofRequest(requestId));
  const freeRequest = async (tx: StoreTransaction) => {
    const request = await tx.requests.find({ id: requestId });
    const isFree = request?.status === 'running' && !isWorkedOn(tx, request);
    return isFree && (await pendingIn(tx)).length > 0 ? request : undefined;
  };
  const found = await store.read(freeRequest);
  const request =
    found &&
    (await store.transaction(async (tx) => {
      const free = await freeRequest(tx);
      return free && claimRequest(deps, tx, free);
    }, found));
  if (request === undefined) return 0;
  try {
    return await underLease(deps, { request, lost: takenOver }, caller, async (lease) => {
      // What a restored store lacks is found before anything is signed again.
      await deps.gaps.require(request.tokenId);
      const project = await store.read((tx) => tx.projects.find({ id: request.tokenId }));
      invariant(project !== undefined, 'Projects are never removed.');
      const pending = await store.read(pendingIn);
      const settled = await settleBurns({ deps, project }, pending, { areNew: false, lease });
      await lease.write((tx) => writeOutcomes(tx, project.id, settled));
      return settled.length;
    });
  } catch (error) {
    if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return 0;
    throw error;
  }
}
