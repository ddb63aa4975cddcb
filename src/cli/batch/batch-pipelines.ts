/** The pipelines of a batch in full, which no service gives back: from the journal of who set it up, or from the user's file. */
import { parseDigestText } from '../../actions/pipelines.js';
import type { InitBatchRequest, Pipeline } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { openInput } from '../input/read-input.js';
import { isOver } from '../journal/journal.js';
import type { OutputFile } from '../output/output-file.js';
import { checkedPipelines } from './batch-operation.js';
import { CurrentStage } from './batch-stages.js';
import type { FailedOut } from './execute-batch.js';
import { getBatch, isFinal } from './initiate.js';

/** The pipelines of a batch, in its order, as the journal has them; `null` where it has not, or no longer. */
export async function batchPipelines(session: Session, batchId: string): Promise<readonly Pipeline[] | null> {
  const journal = await (await session.service()).journal();
  const entry = journal.takeBatch(batchId);
  if (entry === undefined) return null;
  const body = entry.body();
  const stage = new CurrentStage(entry);
  if (!isOver(entry.state)) entry.release();
  if (body === undefined || stage.note.batchId !== batchId) return null;
  return stage.pipelines((JSON.parse(body) as InitBatchRequest).pipelines);
}

/**
 * What `--failed-out` of execute needs, before anything is done.
 * @param expect - `--expect`, which may name the file.
 * @throws `ERR_INPUT_INVALID` where nobody knows what would stand in it.
 */
export async function failedOutOf(
  session: Session,
  batchId: string,
  file: OutputFile,
  expect: string | undefined,
): Promise<FailedOut> {
  if (expect !== undefined && parseDigestText(expect) === undefined) {
    const { pipelines } = await checkedPipelines(session, await openInput(session.context, expect), false);
    return { file, pipelines };
  }
  const pipelines = await batchPipelines(session, batchId);
  // Of a batch that is over there is nothing to send, and its result is printed all the same.
  if (pipelines !== null || isFinal(await getBatch(session, batchId))) return { file, pipelines };
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `--failed-out: this machine does not know the pipelines of batch ${batchId}. Nothing was sent.`,
    { hint: 'Add --expect pipelines.json.' },
  );
}
