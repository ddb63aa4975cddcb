/** What executing a batch has come to, how that is written, and how its accounts are closed after that. */
import { instructionName } from '../../chain/squads/instructions.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import type { ExecuteResult } from '../../contract/schemas/batch.js';
import type { BatchHead, BatchRecord, BundleRecord, TransactionCost } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { countLanded, landedMs } from '../caps.js';
import { BatchWork, executionsOf, type Failure, type HeldBatch, type Next } from './advance.js';
import { closeTransactions } from './batch-context.js';
import { costOfMembers, countVotes } from './costs.js';
import { type BatchState, countExecuted, readWhole } from './on-chain.js';

type JudgedBatch = BatchRecord & { readonly executeResult: ExecuteResult };

/**
 * Writes the verdict on a batch as it stands in a state that no fork can take back.
 * @param state - `null` where nothing of it was ever on chain.
 * @param whyNotAll - why nothing behind the first so many pipelines was executed.
 * @param after - what follows from it, in the same transaction.
 */
export async function conclude(
  work: BatchWork,
  state: BatchState | null,
  whyNotAll: (executed: number) => Failure | null,
  after: (tx: StoreTransaction, judged: JudgedBatch) => Promise<void>,
): Promise<JudgedBatch> {
  const { deps, batch } = work;
  await countVotes(deps, batch);
  const executed = state === null ? 0 : await countExecuted(batch, state, work.readPast);
  const landed = work.landedOf('EXECUTE');
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
    // Its members have finished a draft with tools of their own.
    if (judged.status === 'EXECUTED' && batch.status === 'AVAILABLE_TO_QUEUE')
      await tx.batches.transition(batch.id, 'FINALIZED', {}, date);
    await tx.batches.transition(batch.id, judged.status, { executeResult }, date);
    await after(tx, judged);
  });
  return judged;
}

/** What of the first so many members have executed with other tools, and is not counted yet, as far as the past of the chain tells of it. */
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
    // What becomes of that is looked up; where the past does not tell, it may be the one.
    if (mine !== undefined && (signature === null || signature === mine)) return [];
    return [{ position, record, signature, landedMs: landedMs(record, deps) }];
  });
}

export async function countForeign(
  tx: StoreTransaction,
  { batch, context: { flywheel } }: HeldBatch,
  foreign: Awaited<ReturnType<typeof foreignOf>>,
): Promise<void> {
  const signatures = foreign.flatMap(({ signature }) => signature ?? []);
  const lost = await tx.signatures.known(signatures, ['gapTransactions']);
  const told = foreign.flatMap(({ record }) => record ?? []);
  await tx.batches.addCosts(
    batch.id,
    told.map((record) => costOfMembers(record, flywheel)),
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
  // What it has failed on before is told until somebody has executed that.
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

/** A final batch that may have left something on chain. */
export const needsClosing = ({ status, dateClosed }: BatchHead): boolean =>
  (status === 'EXECUTED' || status === 'FAILED') && dateClosed === null;

/**
 * May the program close it (squads-v4.md, section 7.12)? A batch that failed halfway stays approved on chain, and nothing of
 * it is closed.
 */
export function isCloseable({ proposal, multisig }: BatchState, { batchIndex }: BatchRecord): boolean {
  const kind = proposal?.status.kind;
  if (kind === 'Draft' || kind === 'Active') return batchIndex <= multisig.staleTransactionIndex;
  return kind === 'Rejected' || kind === 'Executed' || kind === 'Cancelled';
}

/**
 * Closes what a batch that is over occupies. Where the multisig has no rent collector nothing can be closed, and the rent stays where it is.
 *
 * @returns why they stay open, with a full stop, where they do; `null` when they are closed.
 */
export async function closeAccounts(held: HeldBatch): Promise<string | null> {
  const { deps, context, batch } = held;
  const work = await BatchWork.open(held, ['CLOSE']);
  const next = async (state: BatchState): Promise<Next> => {
    if (!isCloseable(state, batch))
      return { stop: `The proposal is ${state.proposal?.status.kind ?? 'closed'}.` };
    const { rentCollector } = state.multisig;
    if (rentCollector === null) return 'wait';
    // Some transactions may have been closed already, by a run that was cut off or by other tools: so these are new steps.
    const first = work.countLanded('CLOSE');
    const transactions = closeTransactions(context, batch, state.batch?.size ?? 0, rentCollector);
    const instructions = (index: number) => transactions[index - first] ?? [];
    return { phase: 'CLOSE', first, end: first + transactions.length, instructions };
  };
  const end = await work.run<BatchState>({
    read: (commitment) => readWhole(deps.chain, context.flywheel, batch, commitment),
    isReached: (state) => state.batch === null,
    next,
  });
  const failure = end?.failure ?? null;
  const closings = end === null || failure !== null ? [] : await foreignClosings(work);
  await work.write(async (tx) => {
    if (failure !== null) return;
    await tx.batches.addCosts(batch.id, closings);
    await tx.batches.change(batch.id, { dateClosed: isoTime(tx.nowMs) });
  });
  return failure?.message ?? null;
}

/** What members have brought operator or vault with other tools where they have closed some of the accounts. */
async function foreignClosings(work: BatchWork): Promise<readonly TransactionCost[]> {
  const { batch, context, readPast } = work;
  const own = work.landedOf('CLOSE').flatMap(({ transactions }) => transactions);
  const closes = own
    .flatMap(({ bytes }) => decodeTransaction(bytes).message.instructions)
    .filter(({ data }) => instructionName(data) !== undefined);
  // One for each transaction, and one for the batch.
  if (closes.length > batch.pipelines.length) return [];
  const past = await readPast();
  return (past?.closings ?? []).map((record) => costOfMembers(record, context.flywheel));
}
