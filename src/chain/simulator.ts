/** A machine in which instructions can be tried out on accounts that somebody else has read; nothing of it is kept. */
import type { Address } from '../values/address.js';
import type { AccountState } from './account.js';
import type { Instruction } from './transaction/instruction.js';

/** What became of the accounts. */
export interface SimulatedRun {
  /** Place of the step that failed, from 0, and why; later ones were not run. */
  readonly failure: { readonly step: number; readonly reason: string } | null;
  account(address: Address): AccountState | null;
}

export interface Simulator {
  /**
   * Runs instructions as a program would that calls them for its vault: signatures are taken as given.
   *
   * @param accounts - all that the steps name, as they are on chain; programs are the machine's own.
   * @param steps - each runs whole or not at all, in order.
   */
  run(
    accounts: ReadonlyMap<Address, AccountState | null>,
    steps: readonly (readonly Instruction[])[],
  ): SimulatedRun;
}
