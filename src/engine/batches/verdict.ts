/** What executing a batch has come to, how that is written, and how its accounts are closed after that. */
import type { ExecuteResult } from '../../contract/schemas/batch.js';
import type { BatchHead, BatchRecord, BundleRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { landedMs } from '../daily-cap.js';
import { Advance, type BatchWork, executionsOf, type Failure, type HeldBatch, type Next } from './advance.js';
import { closeTransactions } from './batch-context.js';
import { rentsOf, tokenAccountRent } from './funds.js';
import { countLanded, type LandedPipeline } from './holds.js';
import { type BatchState, countExecuted, readWhole } from './on-chain.js';

/** A batch with its verdict. */
type JudgedBatch = BatchRecord & { readonly executeResult: ExecuteResult };

/**
 * Writes the verdict on a batch as it stands in a state that no fork can take back.
 * @param state - `null` where nothing of it was ever on chain.
 * @param whyNotAll - why nothing behind the first so many pipelines was executed.
 * @param after - what follows from it, in the same transaction.
 */
export async function conclude(
  { deps, context, batch, lease, advance, readPast }: BatchWork,
  state: BatchState | null,
  whyNotAll: (executed: number) => Failure | null,
  after: (tx: StoreTransaction, judged: JudgedBatch) => Promise<void>,
): Promise<JudgedBatch> {
  const executed = state === null ? 0 : await countExecuted(batch, state, readPast);
  const landed = advance.landedOf('EXECUTE');
  const foreign = await foreignOf({ deps, context, batch, readPast }, executed, landed);
  const executeResult = resultOf(batch, executed, landed, whyNotAll(executed));
  const judged: JudgedBatch = {
    ...batch,
    status: executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED',
    executeResult,
  };
  await lease.write(async (tx) => {
    const date = isoTime(tx.nowMs);
    await advance.write(tx);
    await countForeign(tx, batch, foreign);
    // Its members have finished a draft with tools of their own.
    if (judged.status === 'EXECUTED' && batch.status === 'AVAILABLE_TO_QUEUE')
      await tx.batches.transition(batch.id, 'FINALIZED', {}, date);
    await tx.batches.transition(batch.id, judged.status, { executeResult }, date);
    await after(tx, judged);
  });
  return judged;
}

/** A pipeline that members have executed with other tools. */
interface Foreign extends LandedPipeline {
  /** `null` where the chain does not tell it: then it is what was planned. */
  readonly vaultRentLamports: bigint | null;
}

/** Those of a batch that are not counted yet, as the past of the chain tells of them. */
async function foreignOf(
  { deps, context, batch, readPast }: Pick<BatchWork, 'deps' | 'context' | 'batch' | 'readPast'>,
  executed: number,
  landed: readonly BundleRecord[],
): Promise<readonly Foreign[]> {
  const own = new Set(landed.flatMap(({ first, transactions }) => transactions.map((_, at) => first + at)));
  // What had been counted when the batch failed is not counted once more.
  const known = batch.executeResult?.totalSuccessful ?? 0;
  const positions = batch.pipelines
    .map((_, at) => at)
    .slice(known, executed)
    .filter((at) => !own.has(at));
  if (positions.length === 0) return [];
  const past = await readPast();
  const records = positions.map((position) => past?.transactions[position]?.executed ?? null);
  const changes = records.flatMap((record) => record?.tokenChanges ?? []);
  const each = await tokenAccountRent(deps.chain, context);
  const opened = changes.flatMap(({ account, before }) =>
    before === null ? [[account, each] as const] : [],
  );
  const pipelines = positions.flatMap((position) => batch.pipelines[position] ?? []);
  const rents = rentsOf(context, pipelines, new Map(opened));
  return positions.map((position, at) => {
    const record = records[at] ?? null;
    const vaultRentLamports = record?.tokenChanges === undefined ? null : (rents[at] ?? 0n);
    return {
      ...{ position, signature: record?.signature ?? null, vaultRentLamports },
      landedMs: landedMs(record, deps),
    };
  });
}

/** Writes what members have executed, under the lease. */
async function countForeign(
  tx: StoreTransaction,
  batch: BatchRecord,
  foreign: readonly Foreign[],
): Promise<void> {
  const signatures = foreign.flatMap(({ signature }) => signature ?? []);
  const lost = await tx.signatures.known(signatures, ['gapTransactions']);
  const executed = await tx.signatures.known(signatures, ['pipelines']);
  for (const { position, signature, vaultRentLamports: opened } of foreign) {
    // What one transaction has paid for several batches is told of the first.
    const vaultRentLamports = executed.has(signature ?? '') ? 0n : opened;
    if (vaultRentLamports !== null) await tx.pipelines.setVaultRent(batch.id, position, vaultRentLamports);
  }
  const landed = foreign.map((one) => ({ ...one, isCounted: lost.has(one.signature ?? '') }));
  await countLanded(tx, batch, landed);
}

/** What a batch has failed on before is told until somebody has executed that. */
function resultOf(
  { pipelines, executeResult }: BatchRecord,
  executed: number,
  landed: readonly BundleRecord[],
  failure: Failure | null,
): ExecuteResult {
  const total = pipelines.length;
  return {
    ...{
      total,
      totalSuccessful: executed,
      totalFailed: total - executed,
      successfulExecutions: executionsOf(landed),
    },
    ...((executeResult?.failedOnTransactionIndex ?? -1) < executed
      ? fieldsOf(failure)
      : earlierFields(executeResult)),
  };
}

type FailureFields = Pick<
  ExecuteResult,
  'failedOnTransactionIndex' | 'failedStartTransactionIndex' | 'failedTxMsg'
>;

function fieldsOf(failure: Failure | null): FailureFields {
  if (failure === null) return {};
  const { failedTransaction, firstTransaction, message } = failure;
  return {
    ...(failedTransaction === undefined ? {} : { failedOnTransactionIndex: failedTransaction }),
    ...(firstTransaction === undefined ? {} : { failedStartTransactionIndex: firstTransaction }),
    failedTxMsg: message,
  };
}

function earlierFields(result: ExecuteResult | null): FailureFields {
  const { total, totalSuccessful, totalFailed, successfulExecutions, ...fields } = result as ExecuteResult;
  return fields;
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
 * Closes what a batch that is over occupies; its cost then says how much came back to operator or vault, and nothing where the
 * multisig gives it to somebody else. Where it has no rent collector nothing can be closed, and the rent stays where it is.
 *
 * @returns why they stay open, with a full stop, where they do; `null` when they are closed.
 */
export async function closeAccounts(held: HeldBatch): Promise<string | null> {
  const { deps, context, batch, lease } = held;
  const { operator, flywheel } = context;
  const { advance } = await Advance.open(held, ['CLOSE']);
  const next = async (state: BatchState): Promise<Next> => {
    if (!isCloseable(state, batch))
      return { stop: `The proposal is ${state.proposal?.status.kind ?? 'closed'}.` };
    const { rentCollector } = state.multisig;
    if (rentCollector === null) return 'wait';
    // Some transactions may have been closed already, by a run that was cut off or by other tools: so these are new steps.
    const first = advance.countLanded('CLOSE');
    const transactions = closeTransactions(context, batch, state.batch?.size ?? 0, rentCollector);
    const instructions = (index: number) => transactions[index - first] ?? [];
    return { phase: 'CLOSE', first, end: first + transactions.length, instructions };
  };
  const end = await advance.run<BatchState>({
    read: (commitment) => readWhole(deps.chain, flywheel, batch, commitment),
    isReached: (state) => state.batch === null,
    next,
  });
  const failure = end?.failure ?? null;
  const collector = end?.state.multisig.rentCollector ?? null;
  const isOurs = collector === operator.address || collector === flywheel.vault;
  await lease.write(async (tx) => {
    await advance.write(tx);
    if (failure !== null) return;
    if (isOurs) await tx.batches.addCost(batch.id, { rentReclaimedLamports: batch.cost.rentPaidLamports });
    await tx.batches.setClosed(batch.id, isoTime(tx.nowMs));
  });
  return failure?.message ?? null;
}
