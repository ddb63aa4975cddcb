/**
 * What the native program is known to do otherwise than the real one: met, counted and let pass. The runner's README lists
 * them. A transaction meets one only if both logs are the same up to the very line by which the real program's differs.
 */

import { unmetered } from '../conformance/squads/replay.js';
import { type ExecutionResult, INSTRUCTION_ERROR_SENTENCES, SQUADS_PROGRAM } from './program.js';

interface KnownDifference {
  readonly name: string;
  /** The first line of the real program's log that is not in the native one's. */
  readonly line: RegExp;
}

const KNOWN: readonly KnownDifference[] = [
  // The machine runs an inner call as if it stood in the transaction itself, where Token-2022 has nothing against it.
  { name: 'CPI guard', line: /^Program log: CPI Guard is enabled, and a program attempted/ },
  // As above; LiteSVM runs what a cluster lets only a transaction call.
  { name: 'inner precompile', line: /not supported by inner instructions$/ },
  // A program compiled for the cluster does not see what a call did to an executable account, and gives its lamports back
  // as they were; a native program sees everything. Squads itself debits no account but its own, so nothing else ends so.
  {
    name: 'lamports sent to a program',
    line: new RegExp(
      `^Program ${SQUADS_PROGRAM} failed: ${INSTRUCTION_ERROR_SENTENCES['ExternalAccountLamportSpend']}$`,
    ),
  },
  // The native program uses no compute units and no heap.
  {
    name: 'metering',
    line: /^Program log: Error: memory allocation failed|^Program \S+ failed: (?:exceeded CUs meter|Computational budget exceeded|Program failed to complete|Access violation .* \(in heap region\)$)/,
  },
];

/** Without what only the real program's failures say: their place in its source, both keys, what a call before returned. */
function comparable({ logs }: ExecutionResult): readonly string[] {
  let explains = false;
  return unmetered(logs).filter((line) => {
    explains = line.startsWith('Program log: ') && (explains || line.startsWith('Program log: AnchorError'));
    return !explains && !line.startsWith('Program return: ');
  });
}

/** The known difference that a transaction meets, or `undefined`. */
export function knownDifference(native: ExecutionResult, real: ExecutionResult): string | undefined {
  const [ours, theirs] = [comparable(native), comparable(real)];
  const line = theirs.find((told, at) => told !== ours[at]);
  return line === undefined ? undefined : KNOWN.find((known) => known.line.test(line))?.name;
}
