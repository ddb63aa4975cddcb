/** The operation that a file of pipelines is, whichever command it is given to. */
import type { InitBatchRequest } from '../../contract/schemas/batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import { canonicalJson, isJsonObject } from '../../values/canonical-json.js';
import { parseStrictJson } from '../../values/strict-json.js';
import type { Session } from '../command.js';
import { knownDecimals } from '../input/amount.js';
import { readPipelinesFile } from '../input/pipelines-file.js';
import type { Input } from '../input/read-input.js';
import type { Notes, OperationRequest } from '../journal/journal.js';
import { contentOf, equalElements, pipelineElements } from '../operation/elements.js';
import { runOperation, tellAllSkipped, type Work } from '../operation/run-operation.js';
import type { HowOften } from '../options.js';
import { countText } from '../views/unit.js';

/**
 * Reads and checks a file against the flywheel's mint, where that is known. Payloads go out as the canonical text of the proof,
 * so that a file is the same request however its payloads are written.
 */
export async function checkedPipelines(
  session: Session,
  input: Input,
  dryRun: boolean,
): Promise<InitBatchRequest> {
  const { pipelines } = readPipelinesFile(input, await knownDecimals(session, dryRun));
  return { pipelines: pipelines.map((one) => ({ ...one, payload: canonicalPayload(one.payload) })) };
}

const canonicalPayload = (payload: string): string => {
  const proof = parseStrictJson(payload).value;
  invariant(isJsonObject(proof), 'A checked payload is an object.');
  return canonicalJson(proof);
};

/** The operation that a file is. @param notes - what a new one begins with beside its stages. */
export const operationOf = (
  session: Session,
  request: InitBatchRequest,
  { origin, again, allowChanged }: HowOften,
  notes: Notes = {},
): OperationRequest => ({
  ...{ kind: 'batch', origin, again, allowChanged },
  content: contentOf(request.pipelines),
  body: () => JSON.stringify(request),
  notes: (taken) => ({ ...notes, stages: [{ indexes: taken }] }),
  command: session.commandLine,
  elements: pipelineElements(request.pipelines),
  taken: null,
});

/** Runs a command over the operation of a file. */
export async function runBatchOperation<Result>(
  session: Session,
  request: InitBatchRequest,
  how: HowOften,
  work: Work<Result>,
  notes: Notes = {},
): Promise<void> {
  pointOutEqual(session, request);
  if (!(await runOperation(session, operationOf(session, request, how, notes), work)))
    tellAllSkipped(session, request.pipelines.length);
}

function pointOutEqual({ output }: Session, { pipelines }: InitBatchRequest): void {
  const equal = equalElements(pipelines.map((pipeline) => JSON.stringify(pipeline)));
  if (equal === undefined) return;
  const [first, second] = equal.first;
  output.warn(
    `${equal.count} of ${countText(pipelines.length, 'pipeline')} duplicate an earlier one (first: [${second}] equals [${first}]). All of them will be executed.`,
  );
}
