/** The stages of a batch operation: one batch of the whole file, then one per `--rest` of what had not landed. */
import type {
  Batch,
  ExecuteResult,
  InitBatchRequest,
  InitBatchResult,
} from '../../contract/schemas/batch.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import type { Entry, Notes } from '../journal/journal.js';
import { pick } from '../operation/elements.js';
import { untried } from '../operation/verdicts.js';

interface BatchStage {
  /** Indexes of its pipelines in the file; `null`: all. */
  readonly indexes: readonly number[] | null;
  readonly batchId?: string;
  readonly signedTx?: string;
  /** Digest of the approved content, also when a wallet sent the approval. */
  readonly digest?: Sha256;
}

export interface RunResult {
  readonly batch: Batch;
  readonly result: ExecuteResult;
  /** Indexes in the file of pipelines of this stage that did not land. */
  readonly left: readonly number[];
}

export const batchStages = (notes: Notes): readonly BatchStage[] =>
  (notes['stages'] as readonly BatchStage[] | undefined) ?? [];

/** The request with some of its pipelines. This and its JSON text are all that becomes of a request here. */
export const partOf = (request: InitBatchRequest, indexes: readonly number[] | null): InitBatchRequest => ({
  ...request,
  pipelines: [...pick(request.pipelines, indexes)],
});

/** Idempotency key of a stage's init. @param key - of the operation. @param before - number of rests that were given up */
export const stageKey = (key: string, at: number, before = 0): string =>
  at === 0 ? key : derivedUuid(key, 'rest', String(at + before));

const givenUp = (notes: Notes): number => (notes['givenUp'] as number | undefined) ?? 0;

const initAnswerName = (at: number): string => `${at}/init`;

/** Notes of the next stage. Its init was certainly never carried out. */
export const nextStage = ({ notes }: Entry, indexes: readonly number[]): Notes => {
  const stages = batchStages(notes);
  return { stages: [...stages, { indexes }], ...untried(initAnswerName(stages.length)) };
};

/**
 * Gives up a rest that has no batch yet; the stage before becomes current again.
 * @returns false when the current stage is not a rest without a batch.
 */
export function giveUpRest(entry: Entry): boolean {
  const stages = batchStages(entry.notes);
  if (stages.length < 2 || stages.at(-1)?.batchId !== undefined) return false;
  entry.note({ stages: stages.slice(0, -1), givenUp: givenUp(entry.notes) + 1 });
  entry.settle({ state: 'partial', landed: [] });
  return true;
}

/** Batches of all stages that the service has answered with, and the indexes of their pipelines in the file. */
export const answeredBatches = (entry: Entry) =>
  batchStages(entry.notes).flatMap(({ indexes }, at) => {
    const answer = entry.answer(initAnswerName(at)) as InitBatchResult | undefined;
    return answer === undefined ? [] : { batch: answer.batch, indexes };
  });

export function addToStage(entry: Entry, more: Partial<BatchStage>): void {
  const stages = batchStages(entry.notes);
  const last = stages.length - 1;
  entry.note({ stages: stages.map((stage, at) => (at === last ? { ...stage, ...more } : stage)) });
}

export type CurrentStage = ReturnType<typeof currentStage>;

/** The last stage, as it is noted now. */
export function currentStage(entry: Entry) {
  const stages = batchStages(entry.notes);
  const at = stages.length - 1;
  const note: BatchStage = stages[at] ?? { indexes: null };
  const key = stageKey(entry.key, at, givenUp(entry.notes));
  const runAnswerName = `${at}/run`;
  const initAnswer = entry.answer(initAnswerName(at)) as InitBatchResult | undefined;
  return {
    ...{ at, note, key, initAnswer, runAnswerName, initAnswerName: initAnswerName(at) },
    runAnswer: entry.answer(runAnswerName) as RunResult | undefined,
    executeKey: (signedTx: string | undefined) => derivedUuid(key, 'execute', signedTx ?? ''),
    /** Indexes in the file. @param all - of the whole file */
    indexes: (all: readonly unknown[]) => note.indexes ?? [...all.keys()],
    partOf: (request: InitBatchRequest) => partOf(request, note.indexes),
    /** The batch's accounts were known to be on chain, even if the service says otherwise now. */
    wasSetUp:
      note.signedTx !== undefined ||
      (initAnswer !== undefined && initAnswer.batch.status !== 'AVAILABLE_TO_QUEUE'),
  };
}

/** The operation of a batch, if this batch is its last and its file is not dropped yet. */
export function ownBatch(entry: Entry | undefined, batchId: string) {
  const body = entry?.body();
  if (entry === undefined || body === undefined) return undefined;
  const stage = currentStage(entry);
  const request = JSON.parse(body) as InitBatchRequest;
  return stage.note.batchId === batchId ? { stage, request, part: stage.partOf(request) } : undefined;
}
