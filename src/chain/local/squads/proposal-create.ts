/** proposalCreate (squads-v4.md, section 7.3). */
import {
  ACCOUNT_SIZE,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
} from '../../squads/layouts/accounts.js';
import { derive, SEEDS } from '../../squads/layouts/addresses.js';
import { newState, readState, rentPayer, signer, systemProgram } from './account-rules.js';
import { instruction, type Loaded, type Plain } from './definition.js';
import { isStale } from './multisig-rules.js';
import { INITIATE, memberRules, multisigAddressRule, VOTE } from './state-rules.js';

type Accounts = {
  multisig: Loaded<Multisig>;
  proposal: Loaded<Proposal>;
  creator: Plain;
  rentPayer: Plain;
  systemProgram: Plain;
};

export const proposalCreate = instruction<'proposalCreate', Accounts>({
  name: 'proposalCreate',
  accounts: {
    multisig: readState(MULTISIG, [multisigAddressRule]),
    proposal: newState(PROPOSAL, {
      seeds: ({ accounts, args }) => SEEDS.proposal(accounts.multisig.address, args.transactionIndex),
      size: ({ accounts }) => ACCOUNT_SIZE.proposal(accounts.multisig.value.members.length),
      payer: ({ accounts }) => accounts.rentPayer.address,
    }),
    creator: signer(),
    rentPayer: rentPayer(),
    systemProgram,
  },
  checks: [
    {
      error: 'InvalidTransactionIndex',
      holds: ({ accounts, args }) => args.transactionIndex <= accounts.multisig.value.transactionIndex,
    },
    {
      error: 'StaleProposal',
      holds: ({ accounts, args }) => !isStale(accounts.multisig.value, args.transactionIndex),
    },
    ...memberRules(({ accounts }: { accounts: Accounts }) => accounts.creator, INITIATE | VOTE),
  ],
  effect: ({ accounts: { multisig, proposal }, args: { transactionIndex, draft }, invocation }) => {
    proposal.value = {
      multisig: multisig.address,
      transactionIndex,
      status: { kind: draft ? 'Draft' : 'Active', timestamp: invocation.unixTimestamp },
      bump: derive(SEEDS.proposal(multisig.address, transactionIndex)).bump,
      approved: [],
      rejected: [],
      cancelled: [],
    };
  },
});
