/** A batch with its project and keys, and what its transactions cost. One engine at a time works on a batch, under its lease. */
import type { Flywheel, TransactionRecord } from '../../chain/chain.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import { batchAccountsClose, vaultBatchTransactionAccountClose } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { Signer } from '../../chain/transaction/sign.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { Reply, WaitingForChain } from '../../contract/call.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, ProjectRecord, TransactionCost } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { type EngineDeps, tell } from '../deps.js';
import { isWorkedOn, newLease } from '../lease.js';
import { type Principal, waitsFor } from '../operation.js';

export const isFinal = ({ status }: Pick<BatchRecord, 'status'>): boolean =>
  status === 'EXECUTED' || status === 'FAILED';

/** A failed batch is not over: a member can still execute the rest. */
export const isOver = ({ status, dateCancelled }: Pick<BatchRecord, 'status' | 'dateCancelled'>): boolean =>
  status === 'EXECUTED' || dateCancelled !== null;

export async function currentRecord(tx: StoreTransaction, batchId: string): Promise<BatchRecord> {
  const batch = await tx.batches.get(batchId);
  invariant(batch !== undefined, 'Batches are never removed.');
  return batch;
}

/** Takes the lease of the batch. @throws `ERR_BATCH_IN_PROGRESS` while another engine has the lease. */
export async function claimBatch(
  deps: EngineDeps,
  tx: StoreTransaction,
  batchId: string,
): Promise<BatchRecord> {
  const batch = await currentRecord(tx, batchId);
  if (isWorkedOn(tx, batch)) throw inProgress(batch.id, deps.leases.waitingFor(batch.id));
  const lease = newLease(deps, tx);
  await tx.batches.take(batch.id, lease);
  if (batch.holder !== null)
    tx.whenCommitted(() => tell(deps, { operationId: batch.id, event: 'taken over', from: batch.holder }));
  return { ...batch, ...lease };
}

export const inProgress = (id: string, waiting?: WaitingForChain): FlywheelError =>
  new FlywheelError('ERR_BATCH_IN_PROGRESS', `Another request uses batch ${id}${waitsFor(waiting)}.`, {
    retryAfterSeconds: 1,
  });

export interface BatchContext {
  readonly project: ProjectRecord;
  readonly operator: Signer;
}

/** @throws `ERR_INTERNAL` when the operator's key is missing. */
export function contextOf({ keyring }: Pick<EngineDeps, 'keyring'>, { project }: Principal): BatchContext {
  return { project, operator: keyring.get(project.operator, 'operator') };
}

export async function contextOfBatch(
  { keyring }: Pick<EngineDeps, 'keyring'>,
  tx: StoreTransaction,
  { tokenId }: BatchRecord,
): Promise<BatchContext> {
  const project = await tx.projects.find({ id: tokenId });
  invariant(project !== undefined, 'Projects are never removed.');
  return { project, operator: keyring.get(project.operator, 'operator') };
}

export const flywheelOf = (project: ProjectRecord): Flywheel => ({
  ...{ multisig: project.multisig, owner: project.owner, operator: project.operator },
  ...{ vaultIndex: project.vaultIndex, vault: project.vault, vaultTokenAccount: project.vaultTokenAccount },
  ...{ mint: project.mintAddress, decimals: project.decimals },
  tokenProgram: tokenProgramAddress(project.tokenProgram),
});

/** 45 bytes for each closing instruction beside 300 shared bytes. */
const CLOSES_PER_TRANSACTION = 16;

export const messages = (batch: BatchRecord): readonly Uint8Array[] =>
  batch.pipelines.map(({ message }) => Buffer.from(message, 'base64'));

export const closingCount = (pipelines: number): number =>
  Math.ceil((pipelines + 1) / CLOSES_PER_TRANSACTION);

export function closeTransactions(
  { multisig }: Pick<ProjectRecord, 'multisig'>,
  batch: BatchRecord,
  size: number,
  rentCollector: Address,
): readonly (readonly Instruction[])[] {
  const common = { multisig, batchIndex: batch.batchIndex, rentCollector };
  const closes: Instruction[] = [];
  for (let number = size; number > 0; number -= 1)
    closes.push(vaultBatchTransactionAccountClose({ ...common, number }));
  closes.push(batchAccountsClose(common));
  const transactions: Instruction[][] = [];
  for (let from = 0; from < closes.length; from += CLOSES_PER_TRANSACTION) {
    transactions.push(closes.slice(from, from + CLOSES_PER_TRANSACTION));
  }
  return transactions;
}

/** Without balances from a node only the fee is certain. */
function lostBy(
  { wire, balances, tableAddresses = [], feeLamports }: TransactionRecord,
  who: Address,
): number {
  const accounts = wire === null ? [] : [...decodeTransaction(wire).message.staticKeys, ...tableAddresses];
  const place = accounts.indexOf(who);
  const balance = balances?.[place];
  if (balance !== undefined) return Number(balance.before - balance.after);
  return place === 0 ? Number(feeLamports) : 0;
}

export const costOf = (record: TransactionRecord, project: ProjectRecord): TransactionCost => ({
  signature: record.signature,
  operatorLamports: lostBy(record, project.operator),
  vaultLamports: lostBy(record, project.vault),
});

/** Members sent the transaction with another tool, so its fee is not counted, even if the operator paid it. */
export function costOfMembers(record: TransactionRecord, project: ProjectRecord): TransactionCost {
  const cost = costOf(record, project);
  return { ...cost, operatorLamports: Math.min(0, cost.operatorLamports) };
}

/**
 * Counts issued votes that landed. A vote can land until it expires, also after its batch is over: it then fails, and the
 * operator pays its fee.
 */
export async function countVotes(
  { store, chain }: EngineDeps,
  scope: { readonly tokenId: string | null },
): Promise<void> {
  const votes = await store.read((tx) => tx.batches.openVotes(scope.tokenId ?? undefined));
  if (votes.length === 0) return;
  const traces = await chain.trace(
    votes.map(({ transaction, ...vote }) => ({ ...vote, bytes: transaction })),
  );
  const ended = votes.flatMap(({ batchId, signature, transaction }, at) => {
    const trace = traces[at];
    if (trace?.kind !== 'landed') {
      const isOver = trace?.kind === 'never' || trace?.isOver === true;
      return isOver ? [{ batchId, signature, costs: [] }] : [];
    }
    const [operator] = decodeTransaction(transaction).message.staticKeys as [Address];
    const costs = [{ signature, operatorLamports: lostBy(trace.record, operator), vaultLamports: 0 }];
    return trace.isFinal ? [{ batchId, signature, costs }] : [];
  });
  if (ended.length === 0) return;
  await store.transaction(async (tx) => {
    for (const { batchId, costs } of ended) await tx.batches.addCosts(batchId, costs);
    await tx.batches.endVotes(ended.map(({ signature }) => signature));
  }, scope);
}

export async function withCost<Value>(
  tx: StoreTransaction,
  batchId: string,
  value: Value,
  replayed = false,
): Promise<Reply<Value>> {
  return { value, meta: { replayed, cost: await tx.batches.cost(batchId) } };
}
