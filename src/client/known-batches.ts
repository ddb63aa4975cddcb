/** Which batch on chain each batch of a service is: a vote that is asked for by its name may not be about another one later. */
import type { OperationId } from '../contract/operations.js';
import type { Batch } from '../contract/schemas/batch.js';
import type { AnswerOf } from '../contract/service.js';

type Named = Pick<Batch, 'id' | 'multisig' | 'batchIndex' | 'status'>;

const NONE = (): readonly Named[] => [];

/** The batches that an answer of each operation speaks of. */
const BATCHES_IN: { readonly [Id in OperationId]: (answer: AnswerOf<Id>) => readonly Named[] } = {
  burn: NONE,
  burnBatch: NONE,
  listBurns: NONE,
  history: NONE,
  report: NONE,
  describeKey: NONE,
  batchPipelines: NONE,
  executeBatch: NONE,
  getBatch: (batch) => [batch],
  currentBatch: (batch) => (batch === null ? [] : [batch]),
  listBatches: ({ items }) => items,
  initBatch: ({ batch }) => [batch],
  issueApproval: ({ batch }) => [batch],
  cancelBatch: ({ batch }) => (batch === undefined ? [] : [batch]),
};

const placeOf = ({ multisig, batchIndex }: Named): string => `number ${batchIndex} of ${multisig}`;

/** Until its set-up has begun a batch may still take another number. */
const isPlaced = ({ status }: Named): boolean => status !== 'AVAILABLE_TO_QUEUE';

/** What a client has been told so far. */
export class KnownBatches {
  readonly #places = new Map<string, string>();

  /** What of an answer contradicts an earlier one, as a sentence without its end. */
  problem<Id extends OperationId>(operation: Id, answer: AnswerOf<Id>): string | undefined {
    for (const batch of BATCHES_IN[operation](answer)) {
      const before = this.#places.get(batch.id.toLowerCase());
      if (before !== undefined && isPlaced(batch) && before !== placeOf(batch))
        return `batch ${batch.id} is ${placeOf(batch)}, and was ${before}`;
    }
    return undefined;
  }

  /** Takes in an answer that contradicts none before it. */
  remember<Id extends OperationId>(operation: Id, answer: AnswerOf<Id>): void {
    for (const batch of BATCHES_IN[operation](answer))
      if (isPlaced(batch)) this.#places.set(batch.id.toLowerCase(), placeOf(batch));
  }
}
