/**
 * How a list of burns goes out: cut into requests that the service takes. All of it first; then, each time that somebody asks
 * for the rest, what had not landed by then. The answers are in the journal.
 */
import type { ElementOutcome } from '../../contract/call.js';
import { MAX_BODY_BYTES, MAX_BURN_BATCH_ELEMENTS } from '../../contract/limits.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import { derivedUuid } from '../../values/ids.js';
import { stageKey } from '../batch/batch-stages.js';
import type { Session } from '../command.js';
import { sumAmounts } from '../input/amount.js';
import type { Entry, Notes } from '../journal/journal.js';
import { burnElements } from '../operation/elements.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';

/** One sending of the file, or of its rest, as it is noted. */
interface Stage {
  /** Indexes of its elements in the file; `null`: all of them. */
  readonly indexes: readonly number[] | null;
  /** How many elements each request takes. */
  readonly cut: readonly number[];
}

/** One request. */
export interface Part {
  /** Under which its answer is stored. */
  readonly name: string;
  readonly key: string;
  /** Indexes in the file. */
  readonly indexes: readonly number[];
}

/** The burns of these indexes; `null`: all of them. */
export const pick = <Item>(items: readonly Item[], indexes: readonly number[] | null): readonly Item[] =>
  indexes === null ? items : indexes.flatMap((index) => items.slice(index, index + 1));

/** How many elements each request takes, within the limits of elements and bytes. */
export function cutBurns(burns: readonly BurnRequest[]): readonly number[] {
  const counts: number[] = [];
  let bytes = 0;
  for (const burn of burns) {
    // With a comma an element, and the brackets of the array.
    const size = Buffer.byteLength(JSON.stringify(burn)) + 1;
    const count = counts.at(-1) ?? 0;
    if (count > 0 && count < MAX_BURN_BATCH_ELEMENTS && bytes + size <= MAX_BODY_BYTES) {
      counts[counts.length - 1] = count + 1;
      bytes += size;
    } else {
      counts.push(1);
      bytes = 2 + size;
    }
  }
  return counts;
}

/** A stage of these elements. */
export const stageOf = (burns: readonly BurnRequest[], indexes: readonly number[] | null): Stage => ({
  indexes,
  cut: cutBurns(pick(burns, indexes)),
});

export const stagesOf = (notes: Notes): readonly Stage[] =>
  (notes['stages'] as readonly Stage[] | undefined) ?? [];

/** Under which the answer to a request of a stage is stored. */
export const nameOf = (stage: number, part: number): string => `${stage}/${part}`;

/** The requests of a stage. */
export function partsOf(entry: Entry, at: number, { indexes, cut }: Stage): readonly Part[] {
  const key = stageKey(entry.key, at);
  let end = 0;
  return cut.map((size, part) => {
    const start = end;
    end += size;
    return {
      name: nameOf(at, part),
      // The first has the key itself.
      key: part === 0 ? key : derivedUuid(key, String(part)),
      indexes:
        indexes === null
          ? Array.from({ length: size }, (_, offset) => start + offset)
          : indexes.slice(start, end),
    };
  });
}

/** The outcomes of a request that are stored, with the indexes of the file, or `undefined`. */
export const storedOutcomes = (entry: Entry, { name }: Part): readonly ElementOutcome[] | undefined =>
  entry.answer(name) as readonly ElementOutcome[] | undefined;

/** The stored outcomes of a stage. */
export function outcomesOf(entry: Entry, at: number): readonly ElementOutcome[] {
  const stage = stagesOf(entry.notes)[at];
  return stage === undefined
    ? []
    : partsOf(entry, at, stage).flatMap((part) => storedOutcomes(entry, part) ?? []);
}

/** The latest outcome of each element of the first stage: those after it send some of these again. */
export function latestOutcomes(entry: Entry): readonly ElementOutcome[] {
  const latest = new Map<number, ElementOutcome>();
  for (const at of stagesOf(entry.notes).keys())
    for (const one of outcomesOf(entry, at)) latest.set(one.index, one);
  return outcomesOf(entry, 0).map((one) => latest.get(one.index) ?? one);
}

/** Gives up what has no answer: it counts as failed, so that a rest looks it up and does it. */
export function giveUpBurns(entry: Entry, burns: readonly BurnRequest[]): void {
  const parts = stagesOf(entry.notes).flatMap((stage, at) => partsOf(entry, at, stage));
  const unanswered = parts.filter((part) => storedOutcomes(entry, part) === undefined);
  const answers = unanswered.map(({ name, indexes }) => {
    const outcomes = indexes.flatMap((index) =>
      burns.slice(index, index + 1).map((burn) => unknown(index, burn)),
    );
    return [name, outcomes] as const;
  });
  const landed = parts
    .flatMap((part) => storedOutcomes(entry, part) ?? [])
    .flatMap(({ index, status }) => (status === 'success' ? [index] : []));
  entry.settle({
    state: 'partial',
    landed: pick(burnElements(burns), landed).map(({ digest }) => digest),
    answers: Object.fromEntries(answers),
  });
}

const unknown = (index: number, { type, proof }: BurnRequest): ElementOutcome => ({
  ...{ index, status: 'error', type: 'ERR_OUTCOME_UNKNOWN', proof, proofType: type },
  message: 'Dropped with `pending forget` before the outcome was known.',
});

/** Elements of one kind and what they are about, in whole tokens. */
export interface Tally {
  readonly elements: number;
  /** Decimal text. */
  readonly amount: string;
}

/** Sums as they are printed. */
export interface Totals {
  readonly burned: Tally;
  readonly failed: Tally;
  /** Burns whose proof is recorded on chain. */
  readonly proofs: number;
}

const tallyOf = (burns: readonly BurnRequest[]): Tally => ({
  elements: burns.length,
  amount: sumAmounts(burns.map(({ burnAmount }) => burnAmount)),
});

/** @param burns - of the file. */
export function totalsOf(outcomes: readonly ElementOutcome[], burns: readonly BurnRequest[]): Totals {
  const of = (wanted: ElementOutcome['status']): readonly BurnRequest[] =>
    outcomes.flatMap(({ status, index }) => (status === wanted ? burns.slice(index, index + 1) : []));
  const burned = of('success');
  return {
    burned: tallyOf(burned),
    failed: tallyOf(of('error')),
    proofs: burned.filter(({ persistOnchain }) => persistOnchain).length,
  };
}

/** The elements that failed, in the form of the file's name: a JSON array, or one object a line; no file where none failed. */
export function writeFailed(session: Session, file: OutputFile, burns: readonly BurnRequest[]): void {
  if (burns.length === 0) {
    noteEarlier(session, file);
    return;
  }
  const lines = burns.map((burn) => JSON.stringify(burn));
  const isLines = /\.(ndjson|jsonl)$/i.test(file.path);
  writeOutput(file, isLines ? lines.map((line) => `${line}\n`).join('') : `[${lines.join(',\n')}]\n`);
}

/** Prints the outcomes as the one JSON object of the API. */
export function printOutcomes({ output }: Session, outcomes: readonly ElementOutcome[]): void {
  const of = (wanted: ElementOutcome['status']): object[] =>
    outcomes.flatMap(({ index: _index, status, ...rest }) => (status === wanted ? [rest] : []));
  output.result({ success: of('success'), errors: of('error') }, () => []);
}
