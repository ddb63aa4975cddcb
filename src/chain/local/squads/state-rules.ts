/** Addresses of existing accounts and rights of members, as the instructions ask for them again and again (squads-v4.md, section 7). */
import { type Batch, type Multisig, PERMISSION, type Proposal } from '../../squads/layouts/accounts.js';
import { SEEDS } from '../../squads/layouts/addresses.js';
import { addressIs, isWritable } from './account-rules.js';
import type { Loaded, Plain, Rule } from './definition.js';
import { has, isMember } from './multisig-rules.js';

interface WithMultisig {
  readonly accounts: { readonly multisig: Loaded<Multisig> };
}
interface WithProposal extends WithMultisig {
  readonly accounts: { readonly multisig: Loaded<Multisig>; readonly proposal: Loaded<Proposal> };
}
interface WithBatch extends WithMultisig {
  readonly accounts: { readonly multisig: Loaded<Multisig>; readonly batch: Loaded<Batch> };
}

/** The multisig lies where its create key and stored bump say: 2006. */
export const multisigAddressRule: Rule<WithMultisig> = addressIs<WithMultisig>(
  ({ accounts }) => accounts.multisig,
  {
    seeds: ({ accounts }) => SEEDS.multisig(accounts.multisig.value.createKey),
    bump: ({ accounts }) => accounts.multisig.value.bump,
  },
);

/** The proposal lies where the multisig, an index and its stored bump say: 2006. */
export const proposalAddressRule = <Subject extends WithProposal>(
  index: (subject: Subject) => bigint,
): Rule<Subject> =>
  addressIs<Subject>(({ accounts }) => accounts.proposal, {
    seeds: (subject) => SEEDS.proposal(subject.accounts.multisig.address, index(subject)),
    bump: ({ accounts }) => accounts.proposal.value.bump,
  });

/** The batch lies where the multisig, its own index and its stored bump say: 2006. */
export const batchAddressRule: Rule<WithBatch> = addressIs<WithBatch>(({ accounts }) => accounts.batch, {
  seeds: ({ accounts }) => SEEDS.transaction(accounts.multisig.address, accounts.batch.value.index),
  bump: ({ accounts }) => accounts.batch.value.bump,
});

/** The proposal is writable: 2000. */
export const proposalWritableRule: Rule<WithProposal> = isWritable<WithProposal>(
  ({ accounts }) => accounts.proposal,
);

/** The batch is writable: 2000. */
export const batchWritableRule: Rule<WithBatch> = isWritable<WithBatch>(({ accounts }) => accounts.batch);

/** Is a member, else 6005, and has one of the permissions, else 6004 (section 5). */
export const memberRules = <Subject extends WithMultisig>(
  who: (subject: Subject) => Plain,
  bits: number,
): readonly Rule<Subject>[] => [
  {
    error: 'NotAMember',
    holds: (subject) => isMember(subject.accounts.multisig.value, who(subject).address),
  },
  {
    error: 'Unauthorized',
    holds: (subject) => has(subject.accounts.multisig.value, who(subject).address, bits),
  },
];

export const { initiate: INITIATE, vote: VOTE, execute: EXECUTE } = PERMISSION;
