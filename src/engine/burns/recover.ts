/**
 * Burns that have not come to their end and that nobody works on. A pending one is brought there under the lease of its request. A
 * confirmed one is looked at until no fork can take it back: what a fork has taken back is sent again as the same bytes, and where
 * these can land no more, it is pending again.
 */
import type { Trace } from '../../chain/chain.js';
import type { RecoveryScope } from '../../contract/local-admin.js';
import { invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { BurnRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { EngineDeps } from '../deps.js';
import { type Caller, isWorkedOn, underLease } from '../lease.js';
import { claimRequest, takenOver } from '../requests.js';
import { pendingOf, settleBurns, writeFinal, writeOutcomes } from './chunk.js';

/**
 * Looks at what became of confirmed burns, of one project or of all, and sends nothing.
 * @returns how many are pending again, and the bytes of those that may be sent once more.
 * @throws `ERR_UNAVAILABLE` when the chain is out of reach.
 */
export async function watchConfirmed(
  { chain, store }: Pick<EngineDeps, 'chain' | 'store'>,
  { tokenId = null }: RecoveryScope = {},
): Promise<{ readonly reopened: number; readonly missing: readonly Uint8Array[] }> {
  const burns = await store.read((tx) => tx.burns.confirmed(tokenId));
  if (burns.length === 0) return { reopened: 0, missing: [] };
  const traces = await chain.trace(
    burns.map(({ signature, transaction, lastValidBlockHeight }) => ({
      ...{ signature, bytes: transaction, lastValidBlockHeight, isTimeKnown: true, paysOnlyFee: true },
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

/** What fails is only told when no fork can take that back. */
const hasFailed = (trace: Trace): boolean => trace.kind === 'landed' && trace.record.error !== null;

/** @returns how many; those that another engine has taken up, or whose request somebody works on who would not know, stay. */
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

/** Settles what is pending of a request, unless somebody works on it. @returns how many burns */
export async function carryOnBurns(deps: EngineDeps, requestId: string, caller: Caller): Promise<number> {
  const { store } = deps;
  const pendingIn = async (tx: StoreTransaction) => pendingOf(await tx.burns.ofRequest(requestId));
  const freeRequest = async (tx: StoreTransaction) => {
    const request = await tx.requests.find({ id: requestId });
    const isFree = request?.status === 'running' && !isWorkedOn(tx, request);
    return isFree && (await pendingIn(tx)).length > 0 ? request : undefined;
  };
  const found = await store.read(freeRequest);
  if (found === undefined) return 0;
  try {
    const taken = await store.transaction(async (tx) => {
      const request = await freeRequest(tx);
      return request && claimRequest(deps, tx, request);
    }, found);
    if (taken === undefined) return 0;
    return await underLease(deps, { request: taken, lost: takenOver }, caller, async (lease) => {
      // What an older copy has pending may have been signed again since, and have landed so.
      await deps.gaps.require(taken.tokenId);
      const token = await store.read((tx) => tx.tokens.find({ id: taken.tokenId }));
      invariant(token !== undefined, 'Burns are of a token that is never removed.');
      const pending = await store.read(pendingIn);
      const settled = await settleBurns({ deps, token }, pending, { areNew: false, lease });
      await lease.write((tx) => writeOutcomes(tx, token.id, settled));
      await lease.giveUp();
      return settled.length;
    });
  } catch (error) {
    // Another engine has taken the request, and settles it.
    if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return 0;
    throw error;
  }
}
