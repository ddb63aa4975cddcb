/** What executing a batch has come to. */
import type { BundleExecution, ExecuteResult } from '../../contract/schemas/batch.js';
import type { BatchRecord } from '../../store/records.js';
import type { Advance, Failure } from './advance.js';

/** Indexes of the pipelines that others have executed and that are not counted yet. */
export function foreignOf(
  { executeResult }: BatchRecord,
  position: number,
  advance: Advance,
): readonly number[] {
  const own = advance.indexes('EXECUTE');
  // What had been counted when the batch failed is not counted once more.
  const known = executeResult?.totalSuccessful ?? 0;
  return Array.from({ length: position }, (_, index) => index).filter((at) => at >= known && !own.has(at));
}

/** What a batch has failed on before is told until somebody has executed that. */
export function resultOf(
  { pipelines, executeResult }: BatchRecord,
  position: number,
  landed: readonly BundleExecution[],
  failure: Failure | null,
): ExecuteResult {
  const total = pipelines.length;
  return {
    ...{ total, totalSuccessful: position, totalFailed: total - position, successfulExecutions: [...landed] },
    ...((executeResult?.failedOnTransactionIndex ?? -1) < position
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
