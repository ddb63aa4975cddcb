/** A batch with its project and keys. One engine at a time works on a batch, under its lease. */
import type { Flywheel } from '../../chain/chain.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import { batchAccountsClose, vaultBatchTransactionAccountClose } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { Signer } from '../../chain/transaction/sign.js';
import type { WaitingForChain } from '../../contract/call.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, ProjectRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import type { Address } from '../../values/address.js';
import { type EngineDeps, tell } from '../deps.js';
import { isWorkedOn, newLease } from '../lease.js';
import { type Principal, requireProject, waitsFor } from '../operation.js';

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

/** @throws as {@link requireProject}; `ERR_INTERNAL` when the operator's key is missing. */
export function contextOf({ keyring }: Pick<EngineDeps, 'keyring'>, principal: Principal): BatchContext {
  const project = requireProject(principal);
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
