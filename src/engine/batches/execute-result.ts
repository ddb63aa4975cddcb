/** What executing a batch has come to. */
import type { ExecuteResult } from '../../contract/schemas/batch.js';
import type { BatchRecord } from '../../store/records.js';
import type { PhaseFailure, PhaseResult } from './phase.js';

/** Why something of a batch has not run, and on what it failed, if it did. */
export type Failure = Pick<PhaseFailure, 'message'> & Partial<PhaseFailure>;

/** What a batch has failed on before is told until somebody has executed that. */
export function resultOf(
  { pipelines, executeResult }: BatchRecord,
  { next, landed }: PhaseResult,
  failure: Failure | null,
): ExecuteResult {
  const total = pipelines.length;
  return {
    ...{ total, totalSuccessful: next, totalFailed: total - next, successfulExecutions: [...landed] },
    ...((executeResult?.failedOnTransactionIndex ?? -1) < next
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
