/** Transactions of the treasury: they land together or not at all, and nobody has to find them again. */
import type { Chain, RecentBlockhash } from '../../chain/chain.js';
import type { SignedTransaction } from '../../chain/transaction/sign.js';
import { refused } from '../settle/look-up.js';

/**
 * Only a local chain has a treasury, and it decides while they are submitted.
 * @returns their signatures, or why none of them has landed.
 */
export async function landWhole(
  chain: Chain,
  sign: (recent: RecentBlockhash) => Promise<readonly SignedTransaction[]>,
): Promise<{ readonly signatures: readonly string[] } | { readonly refusal: string }> {
  const transactions = await sign(await chain.latestBlockhash());
  const [rejection] = await chain.submitBundles([transactions.map(({ bytes }) => bytes)]);
  return rejection == null
    ? { signatures: transactions.map(({ signature }) => signature) }
    : { refusal: refused(rejection).reason };
}
