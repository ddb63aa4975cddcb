/** State of a batch on chain: multisig, proposal, and on request its transactions. */
import type { Chain, ChainReader, Commitment } from '../../chain/chain.js';
import {
  ALL_PERMISSIONS,
  type Batch,
  isStale,
  type Multisig,
  type Proposal,
  type VaultBatchTransaction,
} from '../../chain/squads/accounts.js';
import { type PastBatch, readPastBatch } from '../../chain/squads/history.js';
import { decodeVaultMessage, isSameMessage } from '../../chain/squads/message.js';
import { type Found, readBatchAccounts, readMultisig } from '../../chain/squads/read-accounts.js';
import type { Message } from '../../chain/transaction/message.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord, ProjectRecord } from '../../store/records.js';
import type { BatchWork } from './advance.js';

export interface BatchState {
  readonly multisig: Multisig;
  readonly proposal: Proposal | null;
  readonly batch: Batch | null;
}

export const kindOf = ({ proposal }: BatchState) => proposal?.status.kind;

/** Nothing can be executed any more: the proposal has ended, or the accounts are closed. */
export const isEnded = (found: BatchState): boolean =>
  found.batch === null || ['Executed', 'Rejected', 'Cancelled'].includes(kindOf(found) ?? '');

/** @throws `ERR_INVALID_REQUEST` when its members have ended the batch, or changed the multisig, after which votes do not count. */
export function requireOpenToVotes(
  { multisig, proposal }: BatchState,
  { id, batchIndex }: BatchRecord,
): void {
  const { kind } = proposal?.status ?? {};
  const wasEnded = kind === 'Rejected' || kind === 'Cancelled';
  const isChanged = (kind === 'Draft' || kind === 'Active') && isStale(multisig, batchIndex);
  if (!wasEnded && !isChanged) return;
  const what = wasEnded ? `The proposal was ${kind.toLowerCase()} on chain` : 'The multisig changed';
  throw new FlywheelError(
    'ERR_INVALID_REQUEST',
    `${what} after the set-up of batch ${id} began, so the batch can no longer be approved, only cancelled.`,
    { hint: `Cancel it: \`flywheel batch cancel ${id}\`` },
  );
}

interface BatchOnChain extends BatchState {
  readonly transactions: readonly Pick<Found<VaultBatchTransaction>, 'value'>[];
}

const noMultisig = ({ multisig }: ProjectRecord): FlywheelError =>
  new FlywheelError('ERR_FLYWHEEL_NOT_FOUND', `No multisig at ${multisig}.`);

/** @throws `ERR_FLYWHEEL_NOT_FOUND` when there is no multisig. */
export const readBatchState = (
  chain: ChainReader,
  project: ProjectRecord,
  { batchIndex }: Pick<BatchRecord, 'batchIndex'>,
  commitment?: Commitment,
): Promise<BatchState> => readBatchOnChain(chain, project, { batchIndex, pipelines: [] }, commitment);

/**
 * Reads all accounts at the batch's index as of one slot. They may belong to another batch until this batch's set-up has landed;
 * the caller decides.
 * @throws `ERR_FLYWHEEL_NOT_FOUND` when there is no multisig.
 */
export async function readBatchOnChain(
  chain: ChainReader,
  project: ProjectRecord,
  { batchIndex, pipelines }: Pick<BatchRecord, 'batchIndex' | 'pipelines'>,
  commitment?: Commitment,
): Promise<BatchOnChain> {
  const ref = { multisig: project.multisig, batchIndex };
  const found = await readBatchAccounts(chain, ref, pipelines.length, commitment);
  const { multisig, batch, proposal, transactions } = found;
  if (multisig.value === null) throw noMultisig(project);
  return { multisig: multisig.value, batch: batch.value, proposal: proposal.value, transactions };
}

/** Reads the history of a batch once; `null` when the node lacks a part of it. */
export function pastOf(
  chain: Chain,
  { multisig }: ProjectRecord,
  { batchIndex }: Pick<BatchRecord, 'batchIndex'>,
): () => Promise<PastBatch | null> {
  let past: Promise<PastBatch | null> | undefined;
  return () => {
    past ??= readPastBatch(chain, { multisig, batchIndex });
    return past;
  };
}

/**
 * Number of leading pipelines executed, by any member, also after the accounts are closed. If the set-up was not completed,
 * members may have added other transactions, which do not count.
 * @param state - finalized.
 * @throws `ERR_UNAVAILABLE` when only the chain's history can tell and the node lacks it.
 */
export async function countExecuted(
  { deps: { chain }, context: { project }, batch: planned, readPast }: BatchWork,
  state: BatchState,
): Promise<number> {
  const executed = state.batch?.executedTransactionIndex;
  if (executed === 0) return 0;
  if (executed !== undefined && planned.status !== 'AVAILABLE_TO_QUEUE') return executed;
  if (executed !== undefined) {
    const found = await readBatchOnChain(chain, project, planned, 'finalized');
    const transactions = found.transactions.slice(0, executed);
    if (transactions.length > 0 && transactions.every(({ value }) => value !== null))
      return Math.min(executed, plannedCount(planned, messagesOf(transactions)));
  }
  const past = await readPast();
  if (past !== null && (past.isClosed || state.batch !== null))
    return plannedCount(
      planned,
      past.transactions.map(({ message, executed: record }) => (record === null ? null : message)),
    );
  throw new FlywheelError(
    'ERR_UNAVAILABLE',
    `The accounts of batch ${planned.id} are closed, and the RPC node lacks the history of its end.`,
  );
}

/**
 * Index of the next batch, unless another batch takes it first.
 * @throws `ERR_FLYWHEEL_NOT_FOUND`, also when the operator lacks rights.
 */
export async function nextBatchIndex(chain: ChainReader, project: ProjectRecord): Promise<bigint> {
  const { value } = await readMultisig(chain, project.multisig);
  if (value === null) throw noMultisig(project);
  requireOperator(value, project);
  return value.transactionIndex + 1n;
}

/** @throws `ERR_FLYWHEEL_NOT_FOUND` when the operator is not a member with all rights. */
export function requireOperator({ members }: Multisig, { multisig, operator }: ProjectRecord): void {
  if (members.find(({ key }) => key === operator)?.permissions === ALL_PERMISSIONS) return;
  throw new FlywheelError(
    'ERR_FLYWHEEL_NOT_FOUND',
    `The operator ${operator} is not a member with all rights of the multisig ${multisig}. Nothing was sent.`,
  );
}

const messagesOf = (transactions: BatchOnChain['transactions']) =>
  transactions.map(({ value }) => value?.message ?? null);

/** Number of leading messages that are those of the pipelines. */
function plannedCount({ pipelines }: BatchRecord, found: readonly (Message | null)[]): number {
  const other = pipelines.findIndex(({ message }, index) => {
    const wanted = decodeVaultMessage(Buffer.from(message, 'base64'));
    const one = found[index] ?? null;
    return one === null || wanted === undefined || !isSameMessage(one, wanted);
  });
  return other < 0 ? pipelines.length : other;
}

export function differenceFromPlan(
  { batch, proposal, transactions }: BatchOnChain,
  planned: BatchRecord,
  { vaultIndex }: ProjectRecord,
): string | null {
  if (batch === null || proposal === null) return 'the accounts are closed';
  if (batch.size !== planned.pipelines.length)
    return `${batch.size} transactions, expected ${planned.pipelines.length}`;
  if (batch.vaultIndex !== vaultIndex) return `vault ${batch.vaultIndex}, expected ${vaultIndex}`;
  const at = plannedCount(planned, messagesOf(transactions));
  return at === planned.pipelines.length ? null : `transaction ${at + 1}`;
}
