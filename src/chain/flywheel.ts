/** On-chain addresses and facts of a project. */
import type { Address } from '../values/address.js';

export interface Flywheel {
  readonly multisig: Address;
  readonly owner: Address;
  readonly operator: Address;
  readonly vaultIndex: number;
  readonly vault: Address;
  readonly vaultTokenAccount: Address;
  readonly mint: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
}

export type VaultToken = Pick<Flywheel, 'mint' | 'decimals' | 'tokenProgram' | 'vault' | 'vaultTokenAccount'>;
