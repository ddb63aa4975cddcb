/** What a batch that ended FAILED amounts to. */
import type { Batch, ExecuteResult } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { commandLine } from '../operation/resume-line.js';

/** The error of a batch that ended FAILED, or `undefined` when everything landed. */
export const batchFailure = (
  session: Pick<Session, 'settings'>,
  batch: Pick<Batch, 'id' | 'dateCancelled'>,
  result: ExecuteResult,
): FlywheelError | undefined =>
  result.totalFailed === 0 && result.failedTxMsg === undefined
    ? undefined
    : failedBatch(session, batch, result);

/** The error of a batch that is FAILED, with what its service says of it. */
export function failedBatch(
  { settings }: Pick<Session, 'settings'>,
  { id, dateCancelled }: Pick<Batch, 'id' | 'dateCancelled'>,
  result: ExecuteResult | undefined,
): FlywheelError {
  const reason = result?.failedTxMsg === undefined ? '' : `; ${result.failedTxMsg.replace(/\.$/, '')}`;
  const executed =
    result === undefined ? '' : `: ${result.totalSuccessful} of ${result.total} transactions were executed`;
  const rest = `\`${commandLine(settings, 'batch', 'run', 'FILE', '--rest')}\``;
  const cancel = `\`${commandLine(settings, 'batch', 'cancel', id)}\``;
  return new FlywheelError('ERR_BATCH_FAILED', `Batch ${id} is FAILED${executed}${reason}.`, {
    hint:
      dateCancelled === undefined
        ? `What was executed stays, and the rest could still be executed by a member. ${rest} ends this batch and does the rest in a new one; ${cancel} only ends it.`
        : `What was executed stays, and no more of it will. ${rest} does the rest in a new batch.`,
  });
}
