/** What executing a batch has come to, and how that is written. */
import type { ExecuteResult } from '../../contract/schemas/batch.js';
import type { BatchRecord, BundleRecord } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import { type BatchWork, executionsOf, type Failure } from './advance.js';
import { countForeign } from './holds.js';
import { type BatchState, countExecuted } from './on-chain.js';

/** A batch with its verdict. */
type JudgedBatch = BatchRecord & { readonly executeResult: ExecuteResult };

/**
 * Writes the verdict on a batch as it stands in a state that no fork can take back.
 * @param state - `null` where nothing of it was ever on chain.
 * @param whyNotAll - why nothing behind the first so many pipelines was executed.
 * @param after - what follows from it, in the same transaction.
 */
export async function conclude(
  { deps, context, batch, lease, advance }: BatchWork,
  state: BatchState | null,
  whyNotAll: (executed: number) => Failure | null,
  after: (tx: StoreTransaction, judged: JudgedBatch) => Promise<void>,
): Promise<JudgedBatch> {
  const executed = state === null ? 0 : await countExecuted(deps.chain, context.flywheel, batch, state);
  const landed = advance.landedOf('EXECUTE');
  const executeResult = resultOf(batch, executed, landed, whyNotAll(executed));
  const judged: JudgedBatch = {
    ...batch,
    status: executeResult.totalFailed === 0 ? 'EXECUTED' : 'FAILED',
    executeResult,
  };
  await lease.write(async (tx) => {
    const date = isoTime(tx.nowMs);
    await advance.write(tx);
    await countForeign(tx, batch, foreignOf(batch, executed, landed));
    // Its members have finished a draft with tools of their own.
    if (judged.status === 'EXECUTED' && batch.status === 'AVAILABLE_TO_QUEUE')
      await tx.batches.transition(batch.id, 'FINALIZED', {}, date);
    await tx.batches.transition(batch.id, judged.status, { executeResult }, date);
    await after(tx, judged);
  });
  return judged;
}

/** Indexes of the pipelines that others have executed and that are not counted yet. */
function foreignOf(
  { executeResult }: BatchRecord,
  executed: number,
  landed: readonly BundleRecord[],
): readonly number[] {
  const own = new Set(landed.flatMap(({ first, transactions }) => transactions.map((_, at) => first + at)));
  // What had been counted when the batch failed is not counted once more.
  const known = executeResult?.totalSuccessful ?? 0;
  return Array.from({ length: executed }, (_, index) => index).filter((at) => at >= known && !own.has(at));
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
