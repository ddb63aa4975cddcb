/** When a proposal may be executed, and what its execution leaves (squads-v4.md, sections 6, 7.10 and 7.11). */
import type { Multisig, Proposal } from '../../squads/layouts/accounts.js';
import type { Invocation } from '../runtime/invocation.js';
import type { Loaded, Plain, Rule } from './definition.js';
import { isApproved } from './multisig-rules.js';
import { EXECUTE, memberRules } from './state-rules.js';

interface Executing {
  readonly accounts: {
    readonly multisig: Loaded<Multisig>;
    readonly member: Plain;
    readonly proposal: Loaded<Proposal>;
  };
  readonly invocation: Invocation;
}

/** The checks of both execute instructions. */
export const executeRules: readonly Rule<Executing>[] = [
  ...memberRules(({ accounts }: Executing) => accounts.member, EXECUTE),
  { error: 'InvalidProposalStatus', holds: ({ accounts }) => isApproved(accounts.proposal.value) },
  {
    error: 'TimeLockNotReleased',
    holds: ({ accounts: { multisig, proposal }, invocation }) =>
      invocation.unixTimestamp - proposal.value.status.timestamp >= BigInt(multisig.value.timeLockSeconds),
  },
];

/** The proposal as executed now. */
export const executed = (proposal: Proposal, { unixTimestamp }: Invocation): Proposal => ({
  ...proposal,
  status: { kind: 'Executed', timestamp: unixTimestamp },
});
