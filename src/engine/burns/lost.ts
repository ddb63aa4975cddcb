/**
 * Burns that may have landed in transactions that the store lacked when an older copy of it was restored while their request ran:
 * the copy does not know that they were signed, or under another number.
 */
import { proofMemoText } from '../../chain/small-programs.js';
import type { LostTransaction, RequestRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Burn, Refusal } from './elements.js';

/**
 * @returns by index of the burn: with a proof on chain the transaction is that burn, without one any burn of the amount may be it.
 */
export async function findLost(
  tx: StoreTransaction,
  request: RequestRecord | undefined,
  burns: readonly Burn[],
): Promise<ReadonlyMap<number, LostTransaction>> {
  const since = request === undefined ? [] : await tx.gaps.foundSince(request);
  const signatures = since.map(({ signature }) => signature);
  const taken = await tx.signatures.known(signatures, ['burns']);
  const left = new Set(since.filter(({ signature }) => !taken.has(signature)));
  const found = new Map<number, LostTransaction>();
  for (const { index, amount, persistOnchain, proofType, proofHash } of burns) {
    const text = persistOnchain ? proofMemoText(proofType, proofHash) : null;
    const isLike = ({ burned, memo }: LostTransaction): boolean =>
      burned === amount && (text === null ? memo === null : memo?.includes(text) === true);
    const lost = [...left].find(isLike);
    if (lost === undefined) continue;
    found.set(index, lost);
    if (persistOnchain) left.delete(lost);
  }
  return found;
}

export const maybeLost = ({ signature }: Pick<LostTransaction, 'signature'>): Refusal => ({
  code: 'ERR_STORE_BEHIND',
  message: `The store was restored from an older copy. Transaction ${signature}, which the copy lacked, may be this burn, so it was not signed again. Check it before you send this burn under another key.`,
});
