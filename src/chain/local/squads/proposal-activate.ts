/** proposalActivate (squads-v4.md, section 7.5). */
import { MULTISIG, type Multisig, PROPOSAL, type Proposal } from '../../squads/layouts/accounts.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import { isWritable, readState, signer, writtenState } from './account-rules.js';
import { instruction, type Loaded, type Plain, type Scope } from './definition.js';
import { isDraft, isStale } from './multisig-rules.js';
import {
  INITIATE,
  memberRules,
  multisigAddressRule,
  proposalAddressRule,
  proposalWritableRule,
} from './state-rules.js';

type Accounts = { multisig: Loaded<Multisig>; member: Plain; proposal: Loaded<Proposal> };
type ActivateScope = Scope<Accounts, ArgumentsByName['proposalActivate']>;

export const proposalActivate = instruction<'proposalActivate', Accounts>({
  name: 'proposalActivate',
  accounts: {
    multisig: readState(MULTISIG, [multisigAddressRule]),
    member: signer([isWritable(({ accounts }) => accounts.member)]),
    proposal: writtenState(PROPOSAL, [
      proposalAddressRule(({ accounts }: ActivateScope) => accounts.proposal.value.transactionIndex),
      proposalWritableRule,
    ]),
  },
  checks: [
    ...memberRules(({ accounts }: ActivateScope) => accounts.member, INITIATE),
    { error: 'InvalidProposalStatus', holds: ({ accounts }) => isDraft(accounts.proposal.value) },
    {
      error: 'StaleProposal',
      holds: ({ accounts }) => !isStale(accounts.multisig.value, accounts.proposal.value.transactionIndex),
    },
  ],
  effect: ({ accounts: { proposal }, invocation }) => {
    proposal.value = {
      ...proposal.value,
      status: { kind: 'Active', timestamp: invocation.unixTimestamp },
    };
  },
});
