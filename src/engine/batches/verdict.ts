/** The verdict on an execution, and closing of the batch's accounts. */
import { isStale } from '../../chain/squads/accounts.js';
import { instructionName } from '../../chain/squads/instructions.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { ExecuteResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchHead, BatchRecord, BundleRecord, TransactionCost } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { countLanded, landedMs } from '../caps.js';
import { type BatchWork, executionsOf, type Failure, type Next } from './advance.js';
import { closeTransactions, costOfMembers, countVotes, isFinal } from './batch-context.js';
import { type BatchState, countExecuted } from './on-chain.js';

type JudgedBatch = BatchRecord & { readonly executeResult: ExecuteResult };

/**
 * Writes the verdict, which never has fewer executed pipelines than before.
 * @param state - finalized; `null` when the batch was never on chain.
 * @param after - runs in the same store transaction.
 * @throws `ERR_UNAVAILABLE` when the node is behind.
 */
export async function conclude(
  work: BatchWork,
  state: BatchState | null,
  whyNotAll: (executed: number) => Failure | null,
  after: (tx: StoreTransaction, judged: JudgedBatch) => Promise<void>,
): Promise<JudgedBatch> {
  const { deps, batch } = work;
  await countVotes(deps, batch);
  const executed = state === null ? 0 : await countExecuted(work, state);
  const landed = work.landedOf('EXECUTE');
  const ends = landed.map(({ first, transactions }) => first + transactions.length);
  if (executed < Math.max(batch.executeResult?.totalSuccessful ?? 0, ...ends)) throw lessThanBefore(batch);
  const foreign = await foreignOf(work, executed);
  const executeResult = resultOf(batch, executed, landed, whyNotAll(executed));
  const judged: JudgedBatch = {
    ...batch,
    status: executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED',
    executeResult,
  };
  await work.write(async (tx) => {
    const date = isoTime(tx.nowMs);
    await countForeign(tx, work, foreign);
    // Members completed an unfinished set-up with another tool.
    if (judged.status === 'EXECUTED' && batch.status === 'AVAILABLE_TO_QUEUE')
      await tx.batches.transition(batch.id, 'FINALIZED', {}, date);
    await tx.batches.transition(batch.id, judged.status, { executeResult }, date);
    await after(tx, judged);
  });
  return judged;
}

const lessThanBefore = ({ id }: BatchHead): FlywheelError =>
  new FlywheelError(
    'ERR_UNAVAILABLE',
    `The RPC node is behind the cluster: it does not show all executed pipelines of batch ${id}. Nothing was changed.`,
    { hint: 'Run the command again later, or use another node: --rpc-url.' },
  );

/**
 * Pipelines below `executed` that members executed with another tool and that are not counted yet, as far as the node has the
 * history.
 */
export async function foreignOf(work: BatchWork, executed: number, readPast = work.readPast) {
  const { deps, batch } = work;
  const own = work.signedOf('EXECUTE');
  const rows = await deps.store.read((tx) => tx.pipelines.amounts(batch.id));
  const positions = rows
    .slice(0, executed)
    .flatMap(({ dateLanded }, at) => (dateLanded === null && own.get(at)?.hasLanded !== true ? [at] : []));
  if (positions.length === 0) return [];
  const past = await readPast();
  return positions.flatMap((position) => {
    const record = past?.transactions[position]?.executed ?? null;
    const signature = record?.signature ?? null;
    const mine = own.get(position)?.signature;
    // Our own transaction: its outcome is looked up. Without history it may be the one that executed the pipeline, so it is not
    // counted twice.
    if (mine !== undefined && (signature === null || signature === mine)) return [];
    return [{ position, record, signature, landedMs: landedMs(record, deps) }];
  });
}

export async function countForeign(
  tx: StoreTransaction,
  { batch, context: { project } }: BatchWork,
  foreign: Awaited<ReturnType<typeof foreignOf>>,
): Promise<void> {
  const signatures = foreign.flatMap(({ signature }) => signature ?? []);
  const lost = await tx.signatures.known(signatures, ['gapTransactions']);
  const told = foreign.flatMap(({ record }) => record ?? []);
  await tx.batches.addCosts(
    batch.id,
    told.map((record) => costOfMembers(record, project)),
  );
  const landed = foreign.map((one) => ({ ...one, isCounted: lost.has(one.signature ?? '') }));
  await countLanded(tx, batch, landed);
}

function resultOf(
  { pipelines, executeResult: before }: BatchRecord,
  executed: number,
  landed: readonly BundleRecord[],
  failure: Failure | null,
): ExecuteResult {
  const total = pipelines.length;
  const sums = {
    ...{ total, totalSuccessful: executed, totalFailed: total - executed },
    successfulExecutions: executionsOf(landed),
  };
  // The first failure stays until a member executes the failed transaction.
  if (before !== null && (before.failedOnTransactionIndex ?? -1) >= executed) return { ...before, ...sums };
  if (failure === null) return sums;
  const { failedTransaction, firstTransaction, message: failedTxMsg } = failure;
  return {
    ...sums,
    ...(failedTransaction === undefined ? {} : { failedOnTransactionIndex: failedTransaction }),
    ...(firstTransaction === undefined ? {} : { failedStartTransactionIndex: firstTransaction }),
    failedTxMsg,
  };
}

export const needsClosing = (batch: BatchHead): boolean => isFinal(batch) && batch.dateClosed === null;

/**
 * Whether the program allows closing (squads-v4.md, section 7.12). A batch that failed halfway stays approved on chain and cannot
 * be closed.
 */
export function isCloseable({ proposal, multisig }: BatchState, { batchIndex }: BatchRecord): boolean {
  const kind = proposal?.status.kind;
  if (kind === 'Draft' || kind === 'Active') return isStale(multisig, batchIndex);
  return kind === 'Rejected' || kind === 'Executed' || kind === 'Cancelled';
}

/**
 * Closes the accounts of a batch that is over. Without a rent collector in the multisig nothing can be closed.
 * @returns why accounts stay open, with a full stop; `null` when they are closed.
 */
export async function closeAccounts(work: BatchWork): Promise<string | null> {
  const { context, batch } = work;
  const next = async (state: BatchState): Promise<Next> => {
    if (!isCloseable(state, batch))
      return { stop: `The proposal is ${state.proposal?.status.kind ?? 'closed'}.` };
    const { rentCollector } = state.multisig;
    if (rentCollector === null) return 'wait';
    // An interrupted run or another tool may have closed some accounts, so the steps get new indexes.
    const first = work.countLanded('CLOSE');
    const transactions = closeTransactions(context.project, batch, state.batch?.size ?? 0, rentCollector);
    const instructions = (index: number) => transactions[index - first] ?? [];
    return { phase: 'CLOSE', first, end: first + transactions.length, instructions };
  };
  const end = await work.run({ isReached: (state) => state.batch === null, next });
  const failure = end?.failure ?? null;
  const closings = end === null || failure !== null ? [] : await foreignClosings(work);
  await work.write(async (tx) => {
    if (failure !== null) return;
    await tx.batches.addCosts(batch.id, closings);
    await tx.batches.change(batch.id, { dateClosed: isoTime(tx.nowMs) });
  });
  return failure?.message ?? null;
}

async function foreignClosings(work: BatchWork): Promise<readonly TransactionCost[]> {
  const { batch, context, readPast } = work;
  const own = work.landedOf('CLOSE').flatMap(({ transactions }) => transactions);
  const closes = own
    .flatMap(({ bytes }) => decodeTransaction(bytes).message.instructions)
    .filter(({ data }) => instructionName(data) !== undefined);
  // One closing per transaction and one for the batch: all were ours.
  if (closes.length > batch.pipelines.length) return [];
  const past = await readPast();
  return (past?.closings ?? []).map((record) => costOfMembers(record, context.project));
}
