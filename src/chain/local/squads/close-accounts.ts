/** batchAccountsClose and vaultTransactionAccountsClose: a batch or vault transaction with its proposal (squads-v4.md, section 7.13). */
import {
  BATCH,
  type Batch,
  hasTypeMark,
  MULTISIG,
  type Multisig,
  PROPOSAL,
  type Proposal,
  TYPE_MARK_BYTES,
  VAULT_TRANSACTION,
  type VaultTransaction,
} from '../../squads/layouts/accounts.js';
import { SEEDS } from '../../squads/layouts/addresses.js';
import { tryDecode } from '../../squads/layouts/codec.js';
import type { ArgumentsByName } from '../../squads/layouts/instructions.js';
import type { Invocation } from '../runtime/invocation.js';
import { addressIs, closesInto, isWritable, raw, readState, systemProgram } from './account-rules.js';
import { close, closingMultisigRules, collectorRules, mayClose } from './close-rules.js';
import { instruction, type Loaded, type Plain, type Rule, type Scope } from './definition.js';
import { fail } from './errors.js';
import { isStale } from './multisig-rules.js';

interface Closing {
  readonly accounts: {
    readonly multisig: Loaded<Multisig>;
    readonly proposal: Plain;
    readonly rentCollector: Plain;
  };
  readonly invocation: Invocation;
}
/** Picks the batch or vault transaction. */
type ClosedIn<Subject> = (subject: Subject) => Loaded<Batch> | Loaded<VaultTransaction>;

/** The proposal, unparsed: at the canonical address for the index of what is closed, and writable. */
const proposalRules = <Subject extends Closing>(closed: ClosedIn<Subject>): readonly Rule<Subject>[] => [
  addressIs<Subject>(({ accounts }) => accounts.proposal, {
    seeds: (subject) => SEEDS.proposal(subject.accounts.multisig.address, closed(subject).value.index),
    bump: 'canonical',
  }),
  isWritable(({ accounts }) => accounts.proposal),
];

/** What is closed: writable, of this multisig, not its own collector. */
const closedRules = <Subject extends Closing>(closed: ClosedIn<Subject>): readonly Rule<Subject>[] => [
  isWritable(closed),
  {
    error: 'TransactionForAnotherMultisig',
    holds: (subject) => closed(subject).value.multisig === subject.accounts.multisig.address,
  },
  closesInto(closed, ({ accounts }) => accounts.rentCollector),
];

/** The proposal if it has data, read only now as the program does. */
function readProposal({ accounts, invocation }: Closing): Proposal | null {
  const { data } = invocation.get(accounts.proposal.address);
  if (data.length === 0) return null;
  if (data.length < TYPE_MARK_BYTES) fail(invocation, 'AccountDiscriminatorNotFound');
  if (!hasTypeMark(PROPOSAL, data)) fail(invocation, 'AccountDiscriminatorMismatch');
  return tryDecode(PROPOSAL.fields, data, TYPE_MARK_BYTES) ?? fail(invocation, 'AccountDidNotDeserialize');
}

/** Its proposal lets it go: by its status, or, where there is none, because the index is stale. */
const proposalLetsGo = <Subject extends Closing>(closed: ClosedIn<Subject>): Rule<Subject> => ({
  error: 'InvalidProposalStatus',
  holds: (subject) => {
    const stale = isStale(subject.accounts.multisig.value, closed(subject).value.index);
    const proposal = readProposal(subject);
    return proposal === null ? stale : mayClose(proposal, stale);
  },
});

/** Closes the proposal if there is one, then the batch or vault transaction. */
const closeWith =
  <Subject extends Closing>(closed: ClosedIn<Subject>) =>
  (subject: Subject): void => {
    const { accounts, invocation } = subject;
    const collector = accounts.rentCollector.address;
    if (readProposal(subject) !== null) close(invocation, accounts.proposal.address, collector);
    close(invocation, closed(subject).address, collector);
  };

type BatchAccounts = {
  multisig: Loaded<Multisig>;
  proposal: Plain;
  batch: Loaded<Batch>;
  rentCollector: Plain;
  systemProgram: Plain;
};
type BatchScope = Scope<BatchAccounts, ArgumentsByName['batchAccountsClose']>;
const batchOf = ({ accounts }: BatchScope) => accounts.batch;

export const batchAccountsClose = instruction<'batchAccountsClose', BatchAccounts>({
  name: 'batchAccountsClose',
  accounts: {
    multisig: readState(MULTISIG, closingMultisigRules),
    proposal: raw(proposalRules<BatchScope>(batchOf)),
    batch: readState(BATCH, closedRules<BatchScope>(batchOf)),
    rentCollector: raw(collectorRules),
    systemProgram,
  },
  checks: [
    proposalLetsGo<BatchScope>(batchOf),
    { error: 'BatchNotEmpty', holds: ({ accounts }) => accounts.batch.value.size === 0 },
  ],
  effect: closeWith<BatchScope>(batchOf),
});

type TransactionAccounts = {
  multisig: Loaded<Multisig>;
  proposal: Plain;
  transaction: Loaded<VaultTransaction>;
  rentCollector: Plain;
  systemProgram: Plain;
};
type TransactionScope = Scope<TransactionAccounts, ArgumentsByName['vaultTransactionAccountsClose']>;
const transactionOf = ({ accounts }: TransactionScope) => accounts.transaction;

export const vaultTransactionAccountsClose = instruction<
  'vaultTransactionAccountsClose',
  TransactionAccounts
>({
  name: 'vaultTransactionAccountsClose',
  accounts: {
    multisig: readState(MULTISIG, closingMultisigRules),
    proposal: raw(proposalRules<TransactionScope>(transactionOf)),
    transaction: readState(VAULT_TRANSACTION, closedRules<TransactionScope>(transactionOf)),
    rentCollector: raw(collectorRules),
    systemProgram,
  },
  checks: [proposalLetsGo<TransactionScope>(transactionOf)],
  effect: closeWith<TransactionScope>(transactionOf),
});
