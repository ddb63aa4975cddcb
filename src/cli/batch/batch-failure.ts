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
        ? `Executed transactions stay executed. A member of the multisig can still execute the others. To cancel this batch and run the rest in a new one: ${rest}. To cancel only: ${cancel}.`
        : `Executed transactions stay executed; no more will follow. To run the rest in a new batch: ${rest}`,
  });
}
