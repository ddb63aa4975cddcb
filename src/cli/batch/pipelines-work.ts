/** What all work on a file of pipelines has in common: what of it is left to send, and how its rest is begun. */
import type { Batch, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { type Element, type Entry, isOver as isOverThere } from '../journal/journal.js';
import { noteDone, type Unanswered } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { requireUnchanged, stillToDo } from '../operation/overlap.js';
import type { Preparation, Standing } from '../operation/run-operation.js';
import { type AskDoneThere, pipelinesDoneThere } from '../operation/service-record.js';
import type { HowOften } from '../options.js';
import { addToStage, batchStages, CurrentStage } from './batch-stages.js';
import { isFinal, isOver, lookAtBatch, requireNotCancelled } from './initiate.js';
import { landedPipelines } from './landed-pipelines.js';

export class PipelinesWork implements Preparation {
  readonly noun = 'pipeline';
  readonly ask: AskDoneThere;
  readonly rest: boolean;
  readonly allowChanged: boolean;
  readonly #session: Session;
  readonly #request: InitBatchRequest;
  readonly #elements: readonly Element[];

  constructor(
    session: Session,
    request: InitBatchRequest,
    { rest, allowChanged }: Pick<HowOften, 'rest' | 'allowChanged'>,
  ) {
    this.#session = session;
    this.#request = request;
    this.ask = pipelinesDoneThere(session, request.pipelines);
    this.rest = rest;
    this.allowChanged = allowChanged;
    this.#elements = pipelineElements(request.pipelines);
  }

  readonly unanswered = (operation: Standing): Unanswered | undefined => {
    const stage = new CurrentStage(operation);
    // What was approved is executed, and what was executed is told.
    if (stage.runAnswer !== undefined || stage.note.signedTx !== undefined) return undefined;
    const indexes = stage.pipelines([...this.#elements.keys()]);
    return { ask: this.ask, elements: this.#elements, requests: [{ key: stage.key, indexes }] };
  };

  leaveOut(entry: Entry, indexes: ReadonlySet<number>): boolean {
    const all = new CurrentStage(entry).pipelines([...this.#elements.keys()]);
    const left = all.filter((index) => !indexes.has(index));
    if (left.length > 0) addToStage(entry, { indexes: left });
    return left.length > 0;
  }

  async prepare(entry: Entry): Promise<boolean> {
    if (this.rest && entry.state === 'partial' && !(await this.#beginRest(entry))) return false;
    return this.#session.isDryRun !== true || isOverThere(entry.state) || (await this.#isLeft(entry));
  }

  /** Makes sure that nothing of a batch can land any more; a dry run takes that for granted. */
  end(_batch: Batch): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Begins a stage with what the last one has not landed.
   * @returns false where others have landed all of that.
   */
  async #beginRest(entry: Entry): Promise<boolean> {
    const session = this.#session;
    const stage = new CurrentStage(entry);
    const { batchId } = stage.note;
    const own = stage.pipelines([...this.#elements.keys()]);
    const before = batchId === undefined ? undefined : await lookAtBatch(session, batchId);
    if (before !== undefined && !isOver(before)) await this.end(before);
    const ended = before && (await lookAtBatch(session, before.id));
    // What was set up by a request whose answer is not known is looked up with all the others.
    const landed = new Set(ended && stage.inFile(await landedPipelines(session, stage, ended, own.length)));
    const all = this.#elements;
    const notLanded = own.filter((index) => !landed.has(index));
    if (notLanded.length === 0) {
      entry.settle({ state: 'done', landed: all.map(({ digest }) => digest) });
      return true;
    }
    // What a member has executed meanwhile has landed as well, and no more can.
    const hasLanded = all.flatMap(({ digest }, index) => (notLanded.includes(index) ? [] : [digest]));
    // What a dry run has not ended is no other's.
    await noteDone(session, entry, { ask: this.ask, keys: [stage.key], elements: all, own: hasLanded });
    const missing = notLanded.flatMap((index) => all.slice(index, index + 1));
    const elements = stillToDo(session, entry, missing, this.noun);
    if (elements.length === 0) return false;
    const digests = new Set(elements.map(({ digest }) => digest));
    const left = all.flatMap(({ digest }, index) => (digests.has(digest) ? [index] : []));
    await requireUnchanged(session, entry, all, left, this);
    if (!entry.reopen(elements, { stages: [...batchStages(entry.notes), { indexes: left }] }, hasLanded))
      throw new FlywheelError(
        'ERR_TIMEOUT',
        'Another process has just started to send the rest. Nothing was sent.',
        { hint: 'Run the command again.' },
      );
    return true;
  }

  /** What comes to light otherwise when the batch is set up, or found to be. */
  async #isLeft(entry: Entry): Promise<boolean> {
    const stage = new CurrentStage(entry);
    const batchId = stage.note.batchId ?? (await this.ask([stage.key]))?.batch?.id;
    const batch = batchId && (await lookAtBatch(this.#session, batchId));
    if (batch) await this.requireWanted(entry, batch);
    return !batch || !isFinal(batch);
  }

  /** A batch that was set up earlier may have been cancelled since. */
  requireWanted(entry: Entry, batch: Batch): Promise<void> {
    return requireNotCancelled(this.#session, entry, batch, this.#request);
  }
}
