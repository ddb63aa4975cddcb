/** Computes status and costs of a batch, and verifies a finished batch against a file, from its transactions alone. */
import type { PipelineContent } from '../actions/pipelines.js';
import { LAMPORTS_PER_SIGNATURE } from '../chain/account.js';
import type { Flywheel, TokenChange, TransactionRecord } from '../chain/chain.js';
import { isStale, type ProposalStatusKind } from '../chain/squads/accounts.js';
import type { Address } from '../values/address.js';
import type { PastDescription } from './batch-content.js';
import type { BatchDescription } from './read-batch.js';
import { expectedChanges, type SimulatedChanges } from './simulate.js';

export type Balances = 'agree' | 'differ' | 'not kept';

/** @param feeCharged - the mint withholds a fee, so recipients may get less. */
export function checkBalances(
  past: PastDescription,
  flywheel: Flywheel,
  feeCharged: boolean,
): { readonly balances: Balances; readonly differences: readonly string[] } {
  const executions = byExecution(past);
  const differences = executions.flatMap(({ record: { tokenChanges, signature }, pipelines }) =>
    tokenChanges === undefined
      ? []
      : changeProblems(tokenChanges, pipelines, flywheel, feeCharged).map(
          (problem) => `transaction ${signature}: ${problem}`,
        ),
  );
  if (differences.length > 0) return { balances: 'differ', differences };
  const areKept = executions.every(({ record }) => record.tokenChanges !== undefined);
  return { balances: areKept && executions.length > 0 ? 'agree' : 'not kept', differences };
}

/** Pipelines by the transaction that executed them; one transaction may execute several. */
function byExecution({ executions, pipelines }: PastDescription) {
  const found = new Map<
    string,
    { readonly record: TransactionRecord; readonly pipelines: PipelineContent[] }
  >();
  executions.forEach((record, at) => {
    const pipeline = pipelines?.[at];
    if (record === null || pipeline === undefined) return;
    const execution = found.get(record.signature) ?? { record, pipelines: [] };
    execution.pipelines.push(pipeline);
    found.set(record.signature, execution);
  });
  return [...found.values()];
}

function changeProblems(
  changes: readonly TokenChange[],
  pipelines: readonly PipelineContent[],
  flywheel: Flywheel,
  feeCharged: boolean,
): readonly string[] {
  const { accounts } = expectedChanges({ pipelines }, flywheel);
  const actual = new Map(
    changes.filter(({ mint }) => mint === flywheel.mint).map((change) => [change.account, change]),
  );
  const addresses = new Set([...accounts.keys(), ...actual.keys()]);
  return [...addresses].flatMap((address) => {
    const change = actual.get(address);
    const moved = change === undefined ? 0n : change.after - (change.before ?? 0n);
    const expected = accounts.get(address) ?? 0n;
    const isLess = feeCharged && address !== flywheel.vaultTokenAccount && moved >= 0n && moved < expected;
    return moved === expected || isLess
      ? []
      : [`token account ${address} changed by ${moved} base units, but the pipelines say ${expected}`];
  });
}

/** `stale`: the multisig's settings changed, so the batch takes no more votes; `closed`: ended for an unknown reason. */
export type BatchStanding =
  | 'draft'
  | 'active'
  | 'stale'
  | 'approved'
  | 'executed'
  | 'rejected'
  | 'cancelled'
  | 'closed';

const STANDING: Readonly<Record<ProposalStatusKind, BatchStanding>> = {
  Draft: 'draft',
  Active: 'active',
  Approved: 'approved',
  Executing: 'approved',
  Executed: 'executed',
  Rejected: 'rejected',
  Cancelled: 'cancelled',
};

export function stateOf({
  proposal,
  batchIndex,
  multisigAccount,
}: Pick<BatchDescription, 'proposal' | 'batchIndex' | 'multisigAccount'>): BatchStanding {
  const standing = STANDING[proposal.status.kind];
  return isStale(multisigAccount, batchIndex) && (standing === 'draft' || standing === 'active')
    ? 'stale'
    : standing;
}

export function pastStateOf({
  executions,
  votes,
}: Pick<PastDescription, 'executions' | 'votes'>): BatchStanding {
  if (executions.length > 0 && executions.every((execution) => execution !== null)) return 'executed';
  if (votes.cancelled.length > 0) return 'cancelled';
  return votes.rejected.length > 0 ? 'rejected' : 'closed';
}

/** Lamports. */
interface BatchCosts {
  readonly vaultRent: bigint | null;
  /** Signature fees of the transactions left, paid by the executing member, without priority fees. */
  readonly executionFees: bigint;
  /** Rent of the batch's own accounts, returned when they are closed. */
  readonly rentReturned: bigint;
  /** Receives the returned rent; `null`: the rent cannot be returned. */
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
