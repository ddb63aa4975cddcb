/** The step that makes a batch of a file of pipelines; `batch init` and `batch run` share it. */
import type { InitBatchRequest, InitBatchResult } from '../../contract/schemas/batch.js';
import type { JsonObject } from '../../values/canonical-json.js';
import { fingerprint } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { NamedText } from '../files/read-input.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import { knownDecimals } from '../known-decimals.js';
import { sendOnce } from '../send.js';

/** Reads and checks a file against the flywheel's mint, where that is known. */
export async function checkedPipelines(
  session: Session,
  text: NamedText,
  dryRun: boolean,
): Promise<InitBatchRequest> {
  return readPipelinesFile(text, await knownDecimals(session, dryRun));
}

/** Sends the request of init under its key. */
export async function initBatch(
  session: Session,
  request: InitBatchRequest,
  givenKey: string | undefined,
): Promise<InitBatchResult> {
  session.output.progress.show(`setting up a batch of ${request.pipelines.length} pipelines …`);
  // The schema's own types carry brands and loose actions; as JSON the request is just this text.
  const body = JSON.parse(JSON.stringify(request)) as JsonObject;
  const keyed = { operation: 'initBatch', fingerprint: fingerprint(body), givenKey };
  const reply = await sendOnce(session, keyed, ({ service }, call) => service.initBatch(request, call));
  session.output.progress.clear();
  return reply.value;
}
