/** The pinned flywheel in the terms of the chain. */
import type { VaultToken } from '../../chain/approval/pipelines.js';
import { address } from '../../values/address.js';
import type { TrustedFlywheel } from '../context.js';

/** Mint and vault of a pinned flywheel. */
export const trustedToken = (trusted: TrustedFlywheel): VaultToken => ({
  mint: address(trusted.mint),
  decimals: trusted.decimals,
  tokenProgram: address(trusted.tokenProgram),
  vault: address(trusted.vault),
  vaultTokenAccount: address(trusted.vaultTokenAccount),
});
