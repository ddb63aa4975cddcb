/** The outcomes of a burn-batch as the one JSON object of the API, written piece by piece. */
import type { ElementOutcome } from '../../contract/call.js';
import type { Session } from '../command.js';
import { safeJson } from '../output/safe-text.js';

/** Outcomes in the order of the file, request by request. */
export interface Results {
  readonly results: () => Iterable<readonly ElementOutcome[]>;
}

function withoutIndex(outcome: ElementOutcome): object {
  const { index: _index, status: _status, ...rest } = outcome;
  return rest;
}

/** The numbers of the elements that failed. */
export function failedOf({ results }: Results): readonly number[] {
  const failed: number[] = [];
  for (const outcomes of results())
    for (const { index, status } of outcomes) if (status === 'error') failed.push(index);
  return failed;
}

/** Prints all of them; on a terminal laid out, as every other result. */
export async function printResults({ output, context }: Session, { results }: Results): Promise<void> {
  const { stdout } = context.io;
  output.progress.clear();
  if (stdout.isTTY) {
    const all = [...results()].flat();
    const of = (wanted: string): object[] => all.filter(({ status }) => status === wanted).map(withoutIndex);
    return output.result({ success: of('success'), errors: of('error') }, () => []);
  }
  const list = async (wanted: ElementOutcome['status']): Promise<void> => {
    let separator = '';
    for (const outcomes of results()) {
      const texts = outcomes
        .filter(({ status }) => status === wanted)
        .map((one) => safeJson(withoutIndex(one)));
      if (texts.length === 0) continue;
      output.text(separator + texts.join(','));
      separator = ',';
      await stdout.drained();
    }
  };
  output.text('{"success":[');
  await list('success');
  output.text('],"errors":[');
  await list('error');
  output.text(']}\n');
}
