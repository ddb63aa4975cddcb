/** The step that lands an approval and executes; `batch execute` and `batch run` share it. */
import type { ExecuteBatchRequest, ExecuteBatchResult, ExecuteResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fingerprint } from '../../values/digest.js';
import type { Session } from '../command.js';
import { sendOnce } from '../send.js';

/** Sends the request of execute under its key. */
export async function executeBatch(
  session: Session,
  approval: ExecuteBatchRequest,
  givenKey: string | undefined,
): Promise<ExecuteBatchResult> {
  session.output.progress.show('executing the batch …');
  const body = { operation: 'executeBatch', fingerprint: fingerprint({ ...approval }), givenKey };
  const reply = await sendOnce(session, body, ({ service }, call) => service.executeBatch(approval, call));
  session.output.progress.clear();
  return reply.value;
}

/** The error of a batch that ended FAILED, or `undefined` when everything landed. */
export function batchFailure(batchId: string, result: ExecuteResult): FlywheelError | undefined {
  if (result.totalFailed === 0 && result.failedTxMsg === undefined) return undefined;
  return new FlywheelError(
    'ERR_BATCH_FAILED',
    `Batch ${batchId} is FAILED: ${result.totalSuccessful} of ${result.total} transactions were executed${
      result.failedTxMsg === undefined ? '' : `; ${result.failedTxMsg}`
    }.`,
    { hint: 'What was executed stays. Put the pipelines that did not land into a new batch.' },
  );
}
