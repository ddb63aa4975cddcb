/** A batch as it stands on chain: its multisig, its proposal, and where it is asked for, its transactions and what they all hold. */
import type { Chain, ChainReader, Commitment } from '../../chain/chain.js';
import {
  ALL_PERMISSIONS,
  type Batch,
  type Multisig,
  type Proposal,
  type VaultBatchTransaction,
} from '../../chain/squads/accounts.js';
import { type PastBatch, readPastBatch } from '../../chain/squads/history.js';
import { decodeVaultMessage, isSameMessage } from '../../chain/squads/message.js';
import { type Found, readBatchAccounts, readMultisig } from '../../chain/squads/read-accounts.js';
import type { Message } from '../../chain/transaction/message.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, FlywheelRecord } from '../../store/records.js';

export interface BatchState {
  readonly multisig: Multisig;
  /** `null`: there is none, or none any more. */
  readonly proposal: Proposal | null;
  readonly batch: Batch | null;
}

export const kindOf = ({ proposal }: BatchState) => proposal?.status.kind;

/** Nothing more of it can be executed: its proposal has come to its end, or its accounts are closed. */
export const isEnded = (found: BatchState): boolean =>
  found.batch === null || ['Executed', 'Rejected', 'Cancelled'].includes(kindOf(found) ?? '');

/**
 * A vote on it still counts: since its members have changed the multisig, none does on a proposal from before that.
 * @throws `ERR_INVALID_REQUEST`
 */
export function requireNotStale({ multisig, proposal }: BatchState, { id, batchIndex }: BatchRecord): void {
  if (proposal?.status.kind !== 'Active' || batchIndex > multisig.staleTransactionIndex) return;
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `The multisig changed after the set-up of batch ${id}, so the batch can no longer be approved.`,
    { hint: `Cancel it: \`flywheel batch cancel ${id}\`` },
  );
}

export interface BatchOnChain extends BatchState {
  readonly transactions: readonly Pick<Found<VaultBatchTransaction>, 'value'>[];
}

const noMultisig = ({ multisig }: FlywheelRecord): FlywheelError =>
  new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', `No multisig at ${multisig}.`);

/**
 * Reads how far the batch at the batch's index is; of a thousand transactions nothing is read for that.
 * @throws `ERR_FLYWHEEL_NOT_FOUND` when there is no multisig.
 */
export const readBatchState = (
  chain: ChainReader,
  flywheel: FlywheelRecord,
  { batchIndex }: Pick<BatchRecord, 'batchIndex'>,
  commitment?: Commitment,
): Promise<BatchState> => readBatchOnChain(chain, flywheel, { batchIndex, pipelines: [] }, commitment);

/**
 * {@link readBatchState} of a batch whose set-up is complete.
 * @throws `ERR_UNAVAILABLE` from a node that is behind, and knows nothing of it yet.
 */
export async function readWhole(
  chain: ChainReader,
  flywheel: FlywheelRecord,
  batch: BatchRecord,
  commitment?: Commitment,
): Promise<BatchState> {
  const state = await readBatchState(chain, flywheel, batch, commitment);
  if (state.multisig.transactionIndex >= batch.batchIndex) return state;
  throw new FlywheelError('ERR_UNAVAILABLE', `The chain does not show batch ${batch.id} yet. Try again.`);
}

/**
 * Reads the accounts at the batch's index, all as of one point in time. Whether they are this batch's own is not decided here: until
 * its set-up has landed, another batch may have taken the index.
 * @throws `ERR_FLYWHEEL_NOT_FOUND` when there is no multisig.
 */
export async function readBatchOnChain(
  chain: ChainReader,
  flywheel: FlywheelRecord,
  { batchIndex, pipelines }: Pick<BatchRecord, 'batchIndex' | 'pipelines'>,
  commitment?: Commitment,
): Promise<BatchOnChain> {
  const ref = { multisig: flywheel.multisig, batchIndex };
  const found = await readBatchAccounts(chain, ref, pipelines.length, commitment);
  const { multisig, batch, proposal, transactions } = found;
  if (multisig.value === null) throw noMultisig(flywheel);
  return { multisig: multisig.value, batch: batch.value, proposal: proposal.value, transactions };
}

/** How far the clocks of this machine and of the chain may be apart. */
const CLOCK_SKEW_MS = 600_000;

/** What became of a batch as its transactions tell it; `null` when the node has forgotten some of it. */
export type ReadPast = () => Promise<PastBatch | null>;

export function pastOf(chain: Chain, { multisig }: FlywheelRecord, planned: BatchRecord): ReadPast {
  const { batchIndex, dateCreated } = planned;
  let past: Promise<PastBatch | null> | undefined;
  return () => {
    past ??= readPastBatch(chain, { multisig, batchIndex }, Date.parse(dateCreated) - CLOCK_SKEW_MS);
    return past;
  };
}

/**
 * How many of the first pipelines of a batch have been executed, by whomever, also when its accounts are closed. Of a batch whose
 * set-up was not completed, members may have made something else.
 * @throws `ERR_UNAVAILABLE` when only the past of the chain would tell, and the chain does not know it.
 */
export async function countExecuted(
  planned: BatchRecord,
  found: BatchState | BatchOnChain,
  readPast: ReadPast,
): Promise<number> {
  const executed = found.batch?.executedTransactionIndex;
  if (executed !== undefined && planned.status !== 'AVAILABLE_TO_QUEUE') return executed;
  const transactions = 'transactions' in found ? found.transactions.slice(0, executed) : [];
  if (executed !== undefined && transactions.length > 0 && transactions.every(({ value }) => value !== null))
    return Math.min(executed, plannedCount({ transactions }, planned));
  if (executed === 0) return 0;
  const past = await readPast();
  if (past !== null) {
    const other = planned.pipelines.findIndex(({ message }, index) => {
      const one = past.transactions[index];
      return one?.executed == null || !isPlanned(one.message, message);
    });
    return other < 0 ? planned.pipelines.length : other;
  }
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The accounts of batch ${planned.id} are closed, and the RPC node lacks the history of its execution.`,
  );
}

/**
 * The index that the next batch of the multisig gets, if nobody else takes it first.
 * @throws `ERR_FLYWHEEL_NOT_FOUND`, also when the operator is no member with all rights any more.
 */
export async function nextBatchIndex(chain: ChainReader, flywheel: FlywheelRecord): Promise<bigint> {
  const { value } = await readMultisig(chain, flywheel.multisig);
  if (value === null) throw noMultisig(flywheel);
  requireOperator(value, flywheel);
  return value.transactionIndex + 1n;
}

/** May the operator set a batch up? @throws `ERR_FLYWHEEL_NOT_FOUND` */
export function requireOperator({ members }: Multisig, { multisig, operator }: FlywheelRecord): void {
  if (members.find(({ key }) => key === operator)?.permissions === ALL_PERMISSIONS) return;
  throw new FlywheelError(
    'ERR_FLYWHEEL_NOT_FOUND',
    `The operator ${operator} is not a member with all rights of the multisig ${multisig}. Nothing was sent.`,
  );
}

/** @param message - in argument form, base64. */
function isPlanned(stored: Message | null, message: string): boolean {
  const wanted = decodeVaultMessage(Buffer.from(message, 'base64'));
  return stored !== null && wanted !== undefined && isSameMessage(stored, wanted);
}

function plannedCount(
  { transactions }: Pick<BatchOnChain, 'transactions'>,
  { pipelines }: Pick<BatchRecord, 'pipelines'>,
): number {
  const other = pipelines.findIndex(({ message }, index) => {
    const stored = transactions[index]?.value ?? null;
    return stored === null || !isPlanned(stored.message, message);
  });
  return other < 0 ? pipelines.length : other;
}

export function differenceFromPlan(
  { batch, proposal, transactions }: BatchOnChain,
  planned: BatchRecord,
  { vaultIndex }: FlywheelRecord,
): string | null {
  if (batch === null || proposal === null) return 'the accounts are closed';
  if (batch.size !== planned.pipelines.length)
    return `${batch.size} transactions, expected ${planned.pipelines.length}`;
  if (batch.vaultIndex !== vaultIndex) return `vault ${batch.vaultIndex}, expected ${vaultIndex}`;
  const at = plannedCount({ transactions }, planned);
  return at === planned.pipelines.length ? null : `transaction ${at + 1}`;
}
