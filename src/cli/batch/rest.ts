/** The next stage of a batch's operation: a batch of the pipelines that have not landed. */
import type { Batch, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import type { Entry } from '../journal/journal.js';
import { noteDone } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { requireUnchanged, stillToDo } from '../operation/overlap.js';
import { pipelinesDoneThere } from '../operation/service-record.js';
import { batchStages, CurrentStage } from './batch-stages.js';
import { getBatch, isOver } from './initiate.js';
import { landedPipelines } from './landed-pipelines.js';

interface RestTerms {
  /** Send also what has landed with another amount or recipient. */
  readonly allowChanged: boolean;
  /** Makes sure that nothing of a batch can land any more. */
  readonly end: (batch: Batch) => Promise<void>;
}

/**
 * Begins the stage, if the last one has failed; one that is under way already is carried on.
 * @returns false where others have landed all that was left.
 */
export async function beginRest(
  session: Session,
  entry: Entry,
  { pipelines }: InitBatchRequest,
  { allowChanged, end }: RestTerms,
): Promise<boolean> {
  if (entry.state !== 'partial') return true;
  const stage = new CurrentStage(entry);
  const { batchId } = stage.note;
  const own = stage.pipelines(pipelines).map((_, index) => index);
  const before = batchId === undefined ? undefined : await getBatch(session, batchId);
  if (before !== undefined && !isOver(before)) await end(before);
  const ended = before && (await getBatch(session, before.id));
  // What was set up by a request whose answer is not known is looked up with all the others.
  const landed = new Set(ended && (await landedPipelines(session, stage, ended, own.length)));
  const all = pipelineElements(pipelines);
  const notLanded = stage.inFile(own.filter((index) => !landed.has(index)));
  if (notLanded.length === 0) {
    entry.settle({ state: 'done', landed: all.map(({ digest }) => digest) });
    return true;
  }
  // What a member has executed meanwhile has landed as well, and no more can.
  const hasLanded = all.flatMap(({ digest }, index) => (notLanded.includes(index) ? [] : [digest]));
  await noteDone(session, entry, {
    ask: pipelinesDoneThere(session, pipelines),
    elements: all,
    own: hasLanded,
  });
  const missing = notLanded.flatMap((index) => all.slice(index, index + 1));
  const elements = stillToDo(session, entry, missing, 'pipeline');
  if (elements.length === 0) return false;
  const digests = new Set(elements.map(({ digest }) => digest));
  const left = all.flatMap(({ digest }, index) => (digests.has(digest) ? [index] : []));
  await requireUnchanged(session, entry, all, left, { noun: 'pipeline', allowChanged });
  if (!entry.reopen(elements, { stages: [...batchStages(entry.notes), { indexes: left }] }, hasLanded)) {
    throw new FlywheelError(
      'ERR_TIMEOUT',
      'Another process has just started to send the rest. Nothing was sent.',
      {
        hint: 'Run the command again.',
      },
    );
  }
  return true;
}
