/** Batch operations for commands that name a batch by its id: the outcome in the journal, and pipelines landed elsewhere. */
import { parseDigestText } from '../../actions/pipelines.js';
import type { Batch, InitBatchRequest, Pipeline, PipelineState } from '../../contract/schemas/batch.js';
import type { Session } from '../command.js';
import { openInput } from '../input/read-input.js';
import { type Entry, isOver } from '../journal/journal.js';
import { foreseeUnchanged } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { commandLine } from '../operation/resume-line.js';
import { getBatch, isEnded, isFinal, locate, pipelinesWith } from '../operation/service-record.js';
import { notSent } from '../operation/verdicts.js';
import type { OutputFile } from '../output/output-file.js';
import { isNotOffered } from '../send.js';
import { countText } from '../views/unit.js';
import { againHint, noteExecuted, type Repeat, repeatOf } from './approval-limits.js';
import { subjectOf } from './approval-record.js';
import { CurrentStage } from './batch-stages.js';
import { landedInFile, listedPipelines } from './chain-agrees.js';
import { checkedPipelines, PipelinesWork, verdictOf } from './pipelines-work.js';

const requestOf = (entry: Entry | undefined): InitBatchRequest | undefined => {
  const body = entry?.body();
  return body === undefined ? undefined : JSON.parse(body);
};

/**
 * Records in the journal that another command ended the batch. If nothing landed, the operation is cancelled, and the file runs
 * again only with `--again`.
 */
export async function settleBatch(session: Session, batch: Batch): Promise<void> {
  await noteExecuted(session, batch);
  const journal = await (await session.service()).journal();
  const entry = journal.takeBatch(batch.id);
  const request = requestOf(entry);
  if (entry === undefined || request === undefined) return;
  const { pipelines } = request;
  const stage = new CurrentStage(entry);
  // The batch belongs to an earlier stage, which was over before this stage began.
  if (stage.note.batchId !== batch.id) {
    if (!isOver(entry.state)) entry.release();
    return;
  }
  const found = await landedInFile(session, stage, batch, pipelines);
  const { executeResult: result } = batch;
  const verdict = verdictOf(stage, batch, found, pipelines, result && { batch, result, left: found.left });
  const isUnbegun = stage.at === 0 && entry.lacking(pipelineElements(pipelines)).length === pipelines.length;
  const isCancelled = batch.dateCancelled !== undefined && found.landed.size === 0 && isUnbegun;
  entry.settle(isCancelled ? { ...verdict, state: 'cancelled' } : verdict);
  entry.markPrinted();
}

export async function repeatBy(
  session: Session,
  batchId: string,
  { again = false }: { readonly again?: boolean },
): Promise<Repeat> {
  const journal = await (await session.service()).journal();
  return repeatOf(journal.ofBatch(batchId), { again, hint: againHint(session) });
}

/** `pipelines` is `null` when this machine does not have them. */
export interface FailedOut {
  readonly file: OutputFile;
  readonly pipelines: readonly Pipeline[] | null;
}

/** No service returns pipelines in full: they come from the journal or the file of `--expect`. @throws `ERR_INPUT_INVALID` */
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
  const entry = (await (await session.service()).journal()).ofBatch(batchId);
  const request = requestOf(entry);
  const stage = entry && new CurrentStage(entry);
  if (request !== undefined && stage?.note.batchId === batchId)
    return { file, pipelines: stage.pipelines(request.pipelines) };
  // A final batch sends nothing, so its result is printed without the file.
  if (isFinal(await getBatch(session, batchId))) return { file, pipelines: null };
  throw notSent(
    `--failed-out: this machine does not have the pipelines of batch ${batchId}.`,
    'Add --expect pipelines.json.',
  );
}

/** A pipeline may have landed in another batch since the set-up. @throws `ERR_INPUT_INVALID`; nothing was sent then. */
export async function requireNotLandedElsewhere(session: Session, batch: Batch): Promise<void> {
  await locate(session);
  const entry = (await (await session.service()).journal()).ofBatch(batch.id);
  if (entry === undefined) return requireFirst(session, batch);
  const request = requestOf(entry);
  if (request === undefined || !entry.isToldApart) return;
  // The same check as in `batch run`, which knows the whole file.
  const how = { rest: false, allowChanged: entry.notes['allowChanged'] === true };
  const work = new PipelinesWork(session, request, how);
  const unanswered = work.unanswered(entry);
  if (unanswered !== undefined) await foreseeUnchanged(session, entry, unanswered, work);
}

async function requireFirst(session: Session, batch: Batch): Promise<void> {
  const opened = await session.service();
  const own = await listedPipelines(session, opened, batch);
  const hashes = [...new Set(own?.map(({ proofHash }) => proofHash))];
  const found = await pipelinesWith(session, hashes).catch((error: unknown) => {
    if (!isNotOffered(error)) throw error;
    return [];
  });
  // A list without the batch itself proves nothing.
  if (own === null || !found.some((one) => one.batch.id === batch.id))
    return session.output.tell(
      'This service cannot be asked whether another batch already landed these pipelines.',
    );
  // Members may have executed a waiting batch meanwhile, or may still do so.
  const elsewhere = new Set(
    found
      .filter(({ batch: { id, ...of }, pipeline }) => id !== batch.id && mayHaveLanded(of, pipeline))
      .map(({ pipeline }) => subjectOf(pipeline)),
  );
  const twice = own.filter((pipeline) => elsewhere.has(subjectOf(pipeline))).length;
  if (twice === 0) return;
  const cancel = commandLine(session.settings, 'batch', 'cancel', batch.id);
  throw notSent(
    `${twice} of ${countText(own.length, 'pipeline')} of batch ${batch.id} landed in another batch, or wait there.`,
    `Cancel this batch: \`${cancel}\`. --again executes it anyway.`,
  );
}

const mayHaveLanded = (
  batch: Pick<Batch, 'status' | 'dateCancelled'>,
  { state }: Pick<PipelineState, 'state'>,
): boolean => state === 'EXECUTED' || !isEnded(batch);
