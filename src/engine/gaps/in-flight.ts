/**
 * What was sent last is on no chain yet: where another copy of the data takes the place of the one that knew of it, nobody can
 * tell whether it lands. So nothing is written on another line of history before all has expired that was sent on the line before.
 * What has landed by then the chain knows, and a gap tells of it.
 */
import { BLOCKHASH_LIFETIME_BLOCKS, type Chain } from '../../chain/chain.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Lineage } from '../../store/repositories/gaps.js';
import type { Store } from '../../store/store.js';

/** By so many blocks the node that a sender has asked may have been ahead of what is final here: some 30 always are, and this node may be behind. */
const AHEAD_BLOCKS = 150n;
/** About what a block takes on a cluster. */
const BLOCK_MS = 400n;

interface InFlightDeps {
  readonly store: Store;
  readonly chain: Pick<Chain, 'latestBlockhash' | 'expiredHeight'>;
}

const mayStillLand = (blocksLeft: bigint): FlywheelError => {
  const seconds = Number((blocksLeft * BLOCK_MS + 999n) / 1_000n);
  return new FlywheelError(
    'ERR_UNAVAILABLE',
    `The database was restored, copied or failed over. Transactions that were sent before may still land. Writes start when they have expired, in about ${seconds} s.`,
    { retryAfterSeconds: Math.max(1, seconds) },
  );
};

/** What is asked again finds the copy that is there by then. */
export const replacedJustNow = (): FlywheelError =>
  new FlywheelError('ERR_UNAVAILABLE', 'The database was just restarted or replaced.', {
    retryAfterSeconds: 1,
  });

/** A height by which all has expired that was sent before now, whichever node it was signed for. */
async function heightOfExpiry({ chain }: InFlightDeps): Promise<bigint> {
  const { lastValidBlockHeight } = await chain.latestBlockhash();
  const ahead = (await chain.expiredHeight()) + BLOCKHASH_LIFETIME_BLOCKS + AHEAD_BLOCKS;
  return ahead > lastValidBlockHeight ? ahead : lastValidBlockHeight;
}

/** Writes down what becomes of the line, unless others have. @returns how it stands then */
const move = ({ store }: InFlightDeps, from: Lineage, to: Lineage): Promise<Lineage> =>
  store.transaction(async (tx) => {
    if (tx.lineage !== to.lineage) throw replacedJustNow();
    const now = await tx.lineages.current();
    if (now.lineage !== from.lineage || now.heldUntil !== from.heldUntil) return now;
    await tx.lineages.set(to);
    return to;
  });

/**
 * Notices another line of history, and waits it out.
 * @param replaced - lines that another was seen to take the place of: one that is back knows nothing of what that other has sent.
 * @returns the copy of the data on which nothing is in flight that it may not know of.
 * @throws `ERR_UNAVAILABLE` while something is, or when the chain cannot be asked.
 */
export async function requireExpired(deps: InFlightDeps, replaced = new Set<string>()): Promise<string> {
  const { copy, lineage, last } = await deps.store.read(async (tx) => ({
    ...{ copy: tx.copy, lineage: tx.lineage },
    last: await tx.lineages.current(),
  }));
  const isKnown = last.lineage === lineage && !replaced.has(lineage);
  const now = isKnown ? last : await move(deps, last, { lineage, heldUntil: await heightOfExpiry(deps) });
  // Whoever has ended the wait just now need not have seen what this process has.
  if (now.heldUntil === null && replaced.has(lineage)) throw replacedJustNow();
  replaced.delete(lineage);
  if (now.heldUntil === null) return copy;
  const left = now.heldUntil - (await deps.chain.expiredHeight());
  if (left > 0n) throw mayStillLand(left);
  await move(deps, now, { lineage, heldUntil: null });
  return copy;
}
