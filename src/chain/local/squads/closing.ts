/** Closing what is over; nobody has to sign for it (docs/squads-v4.md, sections 7.12 and 7.13). */
import {
  type Batch,
  type Multisig,
  PROPOSAL,
  type Proposal,
  type VaultTransaction,
} from '../../squads/accounts.js';
import { deriveWithBump, SEEDS } from '../../squads/addresses.js';
import {
  checkMultisig,
  checkPlace,
  checkWritable,
  closeAccount,
  decodeState,
  ensure,
  isStale,
  type Loaded,
  type SquadsCall,
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

/**
 * Holds the rules by which a batch or vault transaction is closed with its proposal.
 * @returns what closes the proposal if there is one, then the batch or vault transaction.
 */
function closing(
  { accounts, invocation }: SquadsCall<'vaultTransactionAccountsClose'> | SquadsCall<'batchAccountsClose'>,
  closed: Loaded<Batch> | Loaded<VaultTransaction>,
): () => void {
  const { multisig, proposal, rentCollector } = accounts;
  const { index } = closed.value;
  checkReclaims(multisig);
  checkPlace(proposal, SEEDS.proposal(multisig.address, index), 'canonical');
  checkWritable(closed);
  ensure(closed.value.multisig === multisig.address, 'TransactionForAnotherMultisig', closed);
  ensure(closed.address !== rentCollector.address, 'ConstraintClose', closed);
  checkCollector(rentCollector, multisig);
  // It is not parsed as it is loaded: it may not exist any more.
  const { data } = invocation.get(proposal.address);
  const found = data.length === 0 ? null : decodeState(PROPOSAL, data);
  const stale = isStale(multisig.value, index);
  ensure(found === null ? stale : mayClose(found, stale), 'InvalidProposalStatus');
  return () => {
    if (found !== null) closeAccount(invocation, proposal, rentCollector);
    closeAccount(invocation, closed, rentCollector);
  };
}

export function vaultTransactionAccountsClose(call: SquadsCall<'vaultTransactionAccountsClose'>): void {
  closing(call, call.accounts.transaction)();
}

/** Closes the last transaction that the batch still has. */
export function vaultBatchTransactionAccountClose(
  call: SquadsCall<'vaultBatchTransactionAccountClose'>,
): void {
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

export function batchAccountsClose(call: SquadsCall<'batchAccountsClose'>): void {
  const { batch } = call.accounts;
  const close = closing(call, batch);
  ensure(batch.value.size === 0, 'BatchNotEmpty');
  close();
}
