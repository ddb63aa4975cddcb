/** Chains as wallets call them (Wallet Standard, `solana:…`). */
import { clusterName } from './node-address.js';

/** Somebody's own cluster, or the embedded ledger. */
const LOCAL_CHAIN = 'solana:localnet';

/** The chain with this genesis hash. */
export function walletChain(genesisHash: string): string {
  const name = clusterName(genesisHash);
  if (name === null) return LOCAL_CHAIN;
  return name === 'mainnet-beta' ? 'solana:mainnet' : `solana:${name}`;
}
