/** Tells the operation of a file that its batch has come to an end by another command. */
import type { Batch, InitBatchRequest } from '../../contract/schemas/batch.js';
import type { Session } from '../command.js';
import { isOver } from '../journal/journal.js';
import { pipelineElements } from '../operation/elements.js';
import { CurrentStage } from './batch-stages.js';
import { landedPipelines } from './landed-pipelines.js';

/** What landed is then known to have landed; where nothing did, the file is not begun again but with `--again`. */
export async function settleBatch(session: Session, batch: Batch): Promise<void> {
  const journal = await (await session.service()).journal();
  const entry = journal.takeBatch(batch.id);
  const body = entry?.body();
  if (entry === undefined || body === undefined) return;
  const { pipelines } = JSON.parse(body) as InitBatchRequest;
  const stage = new CurrentStage(entry);
  // The batch of an earlier stage was over before this one began.
  if (stage.note.batchId !== batch.id) {
    if (!isOver(entry.state)) entry.release();
    return;
  }
  const landed = new Set(
    stage.inFile(await landedPipelines(session, stage, batch, stage.pipelines(pipelines).length)),
  );
  const all = stage.inFile(pipelines.map((_, index) => index));
  const left = all.filter((index) => !landed.has(index));
  const isCancelled = batch.dateCancelled !== undefined;
  const elements = pipelineElements(pipelines);
  const isUnbegun = stage.at === 0 && entry.lacking(elements).length === elements.length;
  const nothingLanded = isCancelled && landed.size === 0 && isUnbegun;
  entry.settle({
    state: left.length === 0 ? 'done' : nothingLanded ? 'cancelled' : 'partial',
    landed: elements.flatMap(({ digest }, index) => (landed.has(index) ? [digest] : [])),
    mayLand: !isCancelled,
    answers:
      batch.executeResult === undefined
        ? {}
        : { [stage.runAnswerName]: { batch, result: batch.executeResult, left } },
  });
  entry.markPrinted();
}
