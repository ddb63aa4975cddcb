/** What a burn-batch came to: sums, and the files and lines in which it is told. */
import type { ElementOutcome } from '../../contract/call.js';
import type { BurnRequest } from '../../contract/schemas/burn.js';
import type { Session } from '../command.js';
import { sumAmounts } from '../input/amount.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';

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
