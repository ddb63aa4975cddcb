/** Chains and stores that behave otherwise in the one thing that a test is about. */
import type { Chain } from '../../src/chain/chain.js';

/** The chain with some of its methods replaced. */
export const chainOver = (chain: Chain, parts: Partial<Chain>): Chain => ({
  getAccounts: (addresses) => chain.getAccounts(addresses),
  latestBlockhash: () => chain.latestBlockhash(),
  blockHeight: () => chain.blockHeight(),
  isBlockhashValid: (blockhash) => chain.isBlockhashValid(blockhash),
  lookUp: (signatures) => chain.lookUp(signatures),
  getTransaction: (signature) => chain.getTransaction(signature),
  submit: (transactions) => chain.submit(transactions),
  submitBundles: (bundles) => chain.submitBundles(bundles),
  close: () => chain.close(),
  ...parts,
});
