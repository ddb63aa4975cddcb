/** A flywheel in the terms of the chain: whom it belongs to, what it acts with, and on what. */
import type { Address } from '../values/address.js';

export interface Flywheel {
  readonly multisig: Address;
  /** Must approve every batch. */
  readonly owner: Address;
  /** The other member: sets batches up, approves and executes them, and pays for that. */
  readonly operator: Address;
  readonly vaultIndex: number;
  readonly vault: Address;
  /** Where the vault keeps the token. */
  readonly vaultTokenAccount: Address;
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
}

/** What the instructions of a pipeline need to know of it. */
export type VaultToken = Pick<Flywheel, 'mint' | 'decimals' | 'tokenProgram' | 'vault' | 'vaultTokenAccount'>;
