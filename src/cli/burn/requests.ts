/**
 * Splits burns into requests: first the whole list, then, for each `--rest`, what had not landed. Answers are in the journal.
 */
import type { ElementOutcome } from '../../contract/call.js';
import { MAX_BODY_BYTES, MAX_BURN_BATCH_ELEMENTS } from '../../contract/limits.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import { stageKey } from '../batch/batch-stages.js';
import { sumAmounts } from '../input/amount.js';
import type { Element, Entry } from '../journal/journal.js';
import { burnElements, pick } from '../operation/elements.js';

interface Stage {
  /** Indexes of its elements in the file; `null`: all. */
  readonly indexes: readonly number[] | null;
  readonly cut: readonly number[];
}

export interface Part {
  readonly stage: number;
  readonly name: string;
  readonly key: string;
  readonly indexes: readonly number[];
  /** `undefined`: no answer yet. */
  readonly outcomes: readonly ElementOutcome[] | undefined;
}

export function cutBurns(burns: readonly BurnRequest[]): readonly number[] {
  const counts: number[] = [];
  let bytes = 0;
  for (const burn of burns) {
    // Each element with a comma, plus the brackets of the array.
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

export const stageOf = (burns: readonly BurnRequest[], indexes: readonly number[] | null): Stage => ({
  indexes,
  cut: cutBurns(pick(burns, indexes)),
});

export const stagesOf = ({ notes }: Pick<Entry, 'notes'>): readonly Stage[] =>
  (notes['stages'] as readonly Stage[] | undefined) ?? [];

export const nameOf = (stage: number, part: number): string => `${stage}/${part}`;

export const partsOf = (entry: Entry): readonly Part[] =>
  stagesOf(entry).flatMap(({ indexes, cut }, stage) => {
    const first = stageKey(entry.key, stage);
    let end = 0;
    return cut.map((size, part) => {
      const start = end;
      end += size;
      const name = nameOf(stage, part);
      const own = Array.from({ length: size }, (_, offset) => start + offset);
      return {
        ...{ stage, name, key: part === 0 ? first : derivedUuid(first, String(part)) },
        indexes: indexes === null ? own : pick(indexes, own),
        outcomes: entry.answer(name) as Part['outcomes'],
      };
    });
  });

export const outcomesOf = (parts: readonly Part[]): readonly ElementOutcome[] =>
  parts.flatMap(({ outcomes }) => outcomes ?? []);

/** In the order of the file. */
export function latestOutcomes(parts: readonly Part[]): readonly ElementOutcome[] {
  const latest = new Map(outcomesOf(parts).map((one) => [one.index, one]));
  return outcomesOf(parts.filter(({ stage }) => stage === 0)).map((one) => latest.get(one.index) ?? one);
}

export const landedOf = (
  elements: readonly Element[],
  outcomes: readonly ElementOutcome[],
): readonly Sha256[] =>
  pick(
    elements,
    outcomes.flatMap(({ index, status }) => (status === 'success' ? index : [])),
  ).map(({ digest }) => digest);

/** Elements without an answer count as failed, so that `--rest` looks them up. */
export function giveUpBurns(entry: Entry, burns: readonly BurnRequest[]): void {
  const parts = partsOf(entry);
  const answers = parts.flatMap(({ name, indexes, outcomes }) =>
    outcomes === undefined
      ? [[name, indexes.map((index) => unknown(index, burns[index] as BurnRequest))]]
      : [],
  );
  entry.settle({
    ...{ state: 'partial', landed: landedOf(burnElements(burns), outcomesOf(parts)) },
    answers: Object.fromEntries(answers),
  });
}

const unknown = (index: number, { type, proof }: BurnRequest): ElementOutcome => ({
  ...{ index, status: 'error', type: 'ERR_OUTCOME_UNKNOWN', proof, proofType: type },
  message: 'Dropped with `pending forget` before the outcome was known.',
});

/** Counts of one kind of element; amounts in whole tokens. */
export const tallyOf = (burns: readonly BurnRequest[]) => ({
  elements: burns.length,
  amount: sumAmounts(burns.map(({ burnAmount }) => burnAmount)),
});

/** `proofs`: burns whose proof is recorded on chain. */
export function totalsOf(outcomes: readonly ElementOutcome[], burns: readonly BurnRequest[]) {
  const of = (wanted: ElementOutcome['status']): readonly BurnRequest[] =>
    pick(
      burns,
      outcomes.flatMap(({ status, index }) => (status === wanted ? index : [])),
    );
  const burned = of('success');
  const proofs = burned.filter(({ persistOnchain }) => persistOnchain).length;
  return { burned: tallyOf(burned), failed: tallyOf(of('error')), proofs };
}
