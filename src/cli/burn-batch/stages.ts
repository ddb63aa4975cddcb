/**
 * The stages of a burn-batch: the whole of it, then, each time somebody asks for the rest, what had not landed by then. A stage
 * is a list of elements, cut into requests; its answers are in the journal.
 */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { derivedUuid } from '../../values/ids.js';
import type { Entry, Notes } from '../journal/journal.js';
import { cutBurns, partKey } from './plan.js';

/** As it is noted. */
export interface StageNote {
  /** Indexes of its elements in the file; `null`: all of them. */
  readonly indexes: readonly number[] | null;
  /** How many elements each request takes. */
  readonly cut: readonly number[];
}

/** One request of a stage. */
export interface Part {
  /** Under which its answer is stored. */
  readonly name: string;
  readonly key: string;
  /** Indexes in the file. */
  readonly indexes: readonly number[];
}

/** A stage of these elements. */
export const stageOf = (burns: readonly BurnRequest[], indexes: readonly number[] | null): StageNote => ({
  indexes,
  cut: cutBurns(indexes === null ? burns : pick(burns, indexes)),
});

/** Elements by their indexes. */
export const pick = <Item>(items: readonly Item[], indexes: readonly number[]): readonly Item[] =>
  indexes.flatMap((index) => {
    const item = items[index];
    return item === undefined ? [] : [item];
  });

export const stagesOf = (notes: Notes): readonly StageNote[] =>
  (notes['stages'] as readonly StageNote[] | undefined) ?? [];

/** Under which the answer to a request of a stage is stored. */
export const nameOf = (stage: number, part: number): string => `${stage}/${part}`;

/** The requests of a stage. */
export function partsOf(entry: Entry, at: number, { indexes, cut }: StageNote): readonly Part[] {
  const key = at === 0 ? entry.key : derivedUuid(entry.key, 'rest', String(at));
  let start = 0;
  return cut.map((count, part) => {
    const own = Array.from({ length: count }, (_, offset) => indexes?.[start + offset] ?? start + offset);
    start += count;
    return { name: nameOf(at, part), key: partKey(key, part), indexes: own };
  });
}

/** The outcomes of a part that are stored, or `undefined`. Their indexes are those in the file. */
export const storedOutcomes = (entry: Entry, { name }: Part): readonly ElementOutcome[] | undefined =>
  entry.answer(name) as readonly ElementOutcome[] | undefined;
