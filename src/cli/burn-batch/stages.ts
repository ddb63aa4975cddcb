/**
 * The stages of a burn-batch: the whole of it, then, each time somebody asks for the rest, what had not landed by then. A stage
 * is a list of elements, cut into requests; its answers are in the journal.
 */
import type { ElementOutcome } from '../../contract/call.js';
import { derivedUuid } from '../../values/ids.js';
import type { Entry, Notes } from '../journal/journal.js';
import type { BurnList } from './burn-list.js';
import { cutBurns } from './cut.js';

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
  /** How many elements it takes. */
  readonly size: number;
  /** Indexes in the file; made each time, because those of all requests together are many. */
  indexes(): readonly number[];
}

/** A stage of these elements. */
export const stageOf = (burns: BurnList, indexes: readonly number[] | null): StageNote => ({
  indexes,
  cut: cutBurns(burns.each(indexes)),
});

/** The key of a request: the first has the key itself. */
const partKey = (key: string, at: number): string => (at === 0 ? key : derivedUuid(key, String(at)));

export const stagesOf = (notes: Notes): readonly StageNote[] =>
  (notes['stages'] as readonly StageNote[] | undefined) ?? [];

/** Under which the answer to a request of a stage is stored. */
export const nameOf = (stage: number, part: number): string => `${stage}/${part}`;

/** The requests of a stage. */
export function partsOf(entry: Entry, at: number, { indexes, cut }: StageNote): readonly Part[] {
  const key = at === 0 ? entry.key : derivedUuid(entry.key, 'rest', String(at));
  let end = 0;
  return cut.map((size, part) => {
    const start = end;
    end += size;
    const own = (): readonly number[] =>
      indexes === null
        ? Array.from({ length: size }, (_, offset) => start + offset)
        : indexes.slice(start, start + size);
    return { name: nameOf(at, part), key: partKey(key, part), size, indexes: own };
  });
}

/** The outcomes of a part that are stored, or `undefined`. Their indexes are those in the file. */
export const storedOutcomes = (entry: Entry, { name }: Part): readonly ElementOutcome[] | undefined =>
  entry.answer(name) as readonly ElementOutcome[] | undefined;

/** The stored outcomes of a stage, request by request. */
export function* answersOf(entry: Entry, at: number): Generator<readonly ElementOutcome[]> {
  const stage = stagesOf(entry.notes)[at];
  if (stage === undefined) return;
  for (const part of partsOf(entry, at, stage)) yield storedOutcomes(entry, part) ?? [];
}

/** The latest outcome of each element of the first stage: those after it do some of these once more. */
export function* latestOf(entry: Entry): Generator<readonly ElementOutcome[]> {
  const later = new Map<number, ElementOutcome>();
  for (const at of stagesOf(entry.notes).keys()) {
    if (at === 0) continue;
    for (const outcomes of answersOf(entry, at)) for (const one of outcomes) later.set(one.index, one);
  }
  for (const outcomes of answersOf(entry, 0)) yield outcomes.map((one) => later.get(one.index) ?? one);
}
