/** How a batch stands, in one word, and what running it costs beside its tokens. */

import { LAMPORTS_PER_SIGNATURE } from '../chain/account.js';
import type { Address } from '../values/address.js';
import type { PastDescription } from './past-content.js';
import type { BatchDescription } from './read-batch.js';
import type { SimulatedChanges } from './simulate.js';

/** `stale`: settings of the multisig have been changed since, so that it takes no more votes; `closed`: nobody knows why. */
export type BatchState =
  | 'draft'
  | 'active'
  | 'stale'
  | 'approved'
  | 'executed'
  | 'rejected'
  | 'cancelled'
  | 'closed';

/** How a batch stands whose accounts are there. */
export function stateOf({
  proposal,
  batchIndex,
  multisigAccount,
}: Pick<BatchDescription, 'proposal' | 'batchIndex' | 'multisigAccount'>): BatchState {
  const isStale = batchIndex <= multisigAccount.staleTransactionIndex;
  switch (proposal.status.kind) {
    case 'Draft':
      return isStale ? 'stale' : 'draft';
    case 'Active':
      return isStale ? 'stale' : 'active';
    case 'Approved':
    case 'Executing':
      return 'approved';
    case 'Executed':
      return 'executed';
    case 'Rejected':
      return 'rejected';
    case 'Cancelled':
      return 'cancelled';
  }
}

/** How a batch ended whose accounts are closed. */
export function pastStateOf({
  executions,
  votes,
}: Pick<PastDescription, 'executions' | 'votes'>): BatchState {
  if (executions.length > 0 && executions.every((execution) => execution !== null)) return 'executed';
  if (votes.cancelled.length > 0) return 'cancelled';
  return votes.rejected.length > 0 ? 'rejected' : 'closed';
}

/** What running a batch costs, in lamports. */
interface BatchCosts {
  /** Rent that the vault pays for new token accounts; `null`: it was not tried out. */
  readonly vaultRent: bigint | null;
  /** Fee for the signatures of what is left to execute, paid by the member who does; a priority fee comes on top. */
  readonly executionFees: bigint;
  /** Rent of the batch's own accounts, which comes back when they are closed. */
  readonly rentReturned: bigint;
  /** Whom it comes back to; `null`: it cannot come back. */
  readonly rentCollector: Address | null;
}

export function costsOf(
  { transactions, batch, rentLamports, multisigAccount }: BatchDescription,
  changes: SimulatedChanges | null,
): BatchCosts {
  const left = BigInt(transactions.length - batch.executedTransactionIndex);
  return {
    vaultRent: changes === null ? null : changes.vaultLamports.before - changes.vaultLamports.after,
    executionFees: left * LAMPORTS_PER_SIGNATURE,
    rentReturned: rentLamports,
    rentCollector: multisigAccount.rentCollector,
  };
}
