/** What the three closing instructions have in common (squads-v4.md, sections 7.12 and 7.13). */
import type { Address } from '../../../values/address.js';
import type { Multisig, Proposal } from '../../squads/layouts/accounts.js';
import { InstructionFailure } from '../runtime/failure.js';
import type { Invocation } from '../runtime/invocation.js';
import { EMPTY_ACCOUNT } from '../runtime/overlay.js';
import { isWritable } from './account-rules.js';
import type { Loaded, Plain, Rule } from './definition.js';
import { multisigAddressRule } from './state-rules.js';

interface Closing {
  readonly accounts: { readonly multisig: Loaded<Multisig>; readonly rentCollector: Plain };
}

/** The multisig lies at its address, and says who gets the rent: 2006, 6032. */
export const closingMultisigRules: readonly Rule<Closing>[] = [
  multisigAddressRule,
  {
    error: 'RentReclamationDisabled',
    holds: ({ accounts }) => accounts.multisig.value.rentCollector !== null,
  },
];

/** The collector is writable and is the multisig's: 2000, 6033. */
export const collectorRules: readonly Rule<Closing>[] = [
  isWritable(({ accounts }) => accounts.rentCollector),
  {
    error: 'InvalidRentCollector',
    holds: ({ accounts }) => accounts.rentCollector.address === accounts.multisig.value.rentCollector,
  },
];

/** What may be closed, by the state of its proposal: the rule of section 7.12. */
export function mayClose({ status }: Proposal, stale: boolean): boolean {
  switch (status.kind) {
    case 'Rejected':
    case 'Executed':
    case 'Cancelled':
      return true;
    case 'Draft':
    case 'Active':
      return stale;
    default:
      return false;
  }
}

/** Moves all lamports of an account to the collector and leaves it empty (section 4). */
export function close(invocation: Invocation, account: Address, collector: Address): void {
  // Lamports moved onto themselves would be lost, which the cluster does not let pass.
  if (account === collector) throw new InstructionFailure({ error: 'UnbalancedInstruction' });
  const state = invocation.get(account);
  const receiver = invocation.get(collector);
  invocation.set(collector, { ...receiver, lamports: receiver.lamports + state.lamports });
  invocation.set(account, EMPTY_ACCOUNT);
}
