/**
 * The stages of a batch as an operation: the batch of the whole file, then, each time somebody asks for the rest, one of the
 * pipelines that had not landed by then.
 */
import type { Batch, ExecuteResult, InitBatchResult } from '../../contract/schemas/batch.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import type { Entry, Notes } from '../journal/journal.js';

/** As it is noted. */
interface BatchStage {
  /** Indexes of its pipelines in the file; `null`: all of them. */
  readonly indexes: readonly number[] | null;
  /** The batch, once it is set up. */
  readonly batchId?: string;
  /** The approval that was sent, base64. */
  readonly signedTx?: string;
  /** Of what was approved, also where a wallet has sent that. */
  readonly digest?: Sha256;
}

/** How a batch ended, and what of its file has not landed. */
export interface RunResult {
  readonly batch: Batch;
  readonly result: ExecuteResult;
  readonly left: readonly number[];
}

export const batchStages = (notes: Notes): readonly BatchStage[] =>
  (notes['stages'] as readonly BatchStage[] | undefined) ?? [];

/** The key of the first request of a stage. @param key - of the operation. @param before - rests that were given up. */
export const stageKey = (key: string, at: number, before = 0): string =>
  at === 0 ? key : derivedUuid(key, 'rest', String(at + before));

/** The key of the first request of the stage that an operation is in. */
const currentKey = ({ key, notes }: Entry): string =>
  stageKey(key, batchStages(notes).length - 1, givenUp(notes));

const givenUp = (notes: Notes): number => (notes['givenUp'] as number | undefined) ?? 0;

/**
 * Gives up a rest that has no batch: what is left of the file is that of the stage before.
 * @returns false where the stage that it is in is no such rest.
 */
export function giveUpRest(entry: Entry): boolean {
  const stages = batchStages(entry.notes);
  if (stages.length < 2 || stages.at(-1)?.batchId !== undefined) return false;
  entry.note({ stages: stages.slice(0, -1), givenUp: givenUp(entry.notes) + 1 });
  entry.settle({ state: 'partial', landed: [] });
  return true;
}

/** Adds to what is noted of the stage that an operation is in. */
export function addToStage(entry: Entry, more: Partial<BatchStage>): void {
  const stages = batchStages(entry.notes);
  const last = stages.length - 1;
  entry.note({ stages: stages.map((stage, at) => (at === last ? { ...stage, ...more } : stage)) });
}

/** The stage that an operation is in. */
export class CurrentStage {
  readonly #entry: Entry;
  readonly at: number;

  constructor(entry: Entry) {
    this.#entry = entry;
    this.at = batchStages(entry.notes).length - 1;
  }

  get note(): BatchStage {
    return batchStages(this.#entry.notes)[this.at] ?? { indexes: null };
  }

  /** The idempotency key of its init. */
  get key(): string {
    return currentKey(this.#entry);
  }

  /** The idempotency key of an execute with this approval. */
  executeKey(signedTx: string | undefined): string {
    return derivedUuid(this.key, 'execute', signedTx ?? '');
  }

  /** Of what there is for each pipeline of the file, that of the stage. */
  pipelines<Item>(all: readonly Item[]): readonly Item[] {
    const { indexes } = this.note;
    return indexes === null ? all : indexes.flatMap((index) => all.slice(index, index + 1));
  }

  /** Indexes in the file of pipelines of the stage. */
  inFile(indexes: readonly number[]): readonly number[] {
    const own = this.note.indexes;
    return own === null ? indexes : indexes.flatMap((index) => own.slice(index, index + 1));
  }

  get initAnswerName(): string {
    return `${this.at}/init`;
  }

  get runAnswerName(): string {
    return `${this.at}/run`;
  }

  get initAnswer(): InitBatchResult | undefined {
    return this.#entry.answer(this.initAnswerName) as InitBatchResult | undefined;
  }

  /** Its accounts are known to have been on chain, whatever is said of that now. */
  get wasSetUp(): boolean {
    const { initAnswer, note } = this;
    return (
      note.signedTx !== undefined ||
      (initAnswer !== undefined && initAnswer.batch.status !== 'AVAILABLE_TO_QUEUE')
    );
  }

  get runAnswer(): RunResult | undefined {
    return this.#entry.answer(this.runAnswerName) as RunResult | undefined;
  }
}
