/** Closing what is over; nobody has to sign for it (docs/squads-v4.md, sections 7.12 and 7.13). */
import {
  type Batch,
  type Multisig,
  PROPOSAL,
  type Proposal,
  type VaultTransaction,
} from '../../squads/accounts.js';
import { deriveWithBump, SEEDS } from '../../squads/addresses.js';
import type { Invocation } from '../runtime/execution.js';
import {
  type Call,
  checkMultisig,
  checkPlace,
  checkWritable,
  closeAccount,
  decodeState,
  ensure,
  isStale,
  type Loaded,
} from './rules.js';

/** The multisig says where rent goes. */
function checkReclaims(multisig: Loaded<Multisig>): void {
  checkMultisig(multisig);
  ensure(multisig.value.rentCollector !== null, 'RentReclamationDisabled', multisig);
}

/** Where the rent of closed accounts goes. */
function checkCollector(rentCollector: Loaded, multisig: Loaded<Multisig>): void {
  checkWritable(rentCollector);
  ensure(rentCollector.address === multisig.value.rentCollector, 'InvalidRentCollector', rentCollector);
}

/** May what this proposal is about be closed? */
function mayClose({ status }: Proposal, stale: boolean): boolean {
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

interface Closing {
  readonly multisig: Loaded<Multisig>;
  /** Not parsed as it is loaded: it may not exist any more. */
  readonly proposal: Loaded;
  readonly closed: Loaded<Batch> | Loaded<VaultTransaction>;
  readonly rentCollector: Loaded;
}

function readProposal({ proposal }: Closing, invocation: Invocation): Proposal | null {
  const { data } = invocation.get(proposal.address);
  return data.length === 0 ? null : decodeState(PROPOSAL, data);
}

/** A batch or vault transaction may be closed with its proposal. */
function checkClosed(closing: Closing, invocation: Invocation): void {
  const { multisig, proposal, closed, rentCollector } = closing;
  const { index } = closed.value;
  checkReclaims(multisig);
  checkPlace(proposal, SEEDS.proposal(multisig.address, index), 'canonical');
  checkWritable(closed);
  ensure(closed.value.multisig === multisig.address, 'TransactionForAnotherMultisig', closed);
  ensure(closed.address !== rentCollector.address, 'ConstraintClose', closed);
  checkCollector(rentCollector, multisig);
  const found = readProposal(closing, invocation);
  const stale = isStale(multisig.value, index);
  ensure(found === null ? stale : mayClose(found, stale), 'InvalidProposalStatus');
}

/** Closes the proposal if there is one, then the batch or vault transaction. */
function closeWithProposal(closing: Closing, invocation: Invocation): void {
  const { proposal, closed, rentCollector } = closing;
  if (readProposal(closing, invocation) !== null) closeAccount(invocation, proposal, rentCollector);
  closeAccount(invocation, closed, rentCollector);
}

export function vaultTransactionAccountsClose({
  accounts,
  invocation,
}: Call<'vaultTransactionAccountsClose'>): void {
  const closing = { ...accounts, closed: accounts.transaction };
  checkClosed(closing, invocation);
  closeWithProposal(closing, invocation);
}

/** Closes the last transaction that the batch still has. */
export function vaultBatchTransactionAccountClose(call: Call<'vaultBatchTransactionAccountClose'>): void {
  const { multisig, proposal, batch, transaction, rentCollector } = call.accounts;
  checkReclaims(multisig);
  ensure(proposal.value.multisig === multisig.address, 'ProposalForAnotherMultisig', proposal);
  checkWritable(batch);
  ensure(batch.value.multisig === multisig.address, 'TransactionForAnotherMultisig', batch);
  ensure(batch.value.index === proposal.value.transactionIndex, 'TransactionNotMatchingProposal', batch);
  checkWritable(transaction);
  ensure(transaction.address !== rentCollector.address, 'ConstraintClose', transaction);
  checkCollector(rentCollector, multisig);
  const last = SEEDS.batchTransaction(multisig.address, batch.value.index, batch.value.size);
  ensure(deriveWithBump(last, transaction.value.bump) === transaction.address, 'TransactionNotLastInBatch');
  const stale = isStale(multisig.value, proposal.value.transactionIndex);
  ensure(mayClose(proposal.value, stale), 'InvalidProposalStatus');
  batch.value = { ...batch.value, size: batch.value.size - 1 };
  closeAccount(call.invocation, transaction, rentCollector);
}

export function batchAccountsClose({ accounts, invocation }: Call<'batchAccountsClose'>): void {
  const closing = { ...accounts, closed: accounts.batch };
  checkClosed(closing, invocation);
  ensure(accounts.batch.value.size === 0, 'BatchNotEmpty');
  closeWithProposal(closing, invocation);
}
