/**
 * Known differences between the native and the real program, which are counted and accepted; the runner's README lists them. A
 * transaction has one only if both logs are equal up to the line where the real program differs.
 */

import { unmetered } from '../conformance/squads/replay.js';
import { type ExecutionResult, INSTRUCTION_ERROR_SENTENCES, SQUADS_PROGRAM } from './program.js';

interface KnownDifference {
  readonly name: string;
  /** The first line of the real program's log that the native log lacks. */
  readonly line: RegExp;
}

const KNOWN: readonly KnownDifference[] = [
  // The machine runs an inner call like a top-level one, which Token-2022 permits.
  { name: 'CPI guard', line: /^Program log: CPI Guard is enabled, and a program attempted/ },
  // As above; LiteSVM runs instructions that a cluster permits at top level only.
  { name: 'inner precompile', line: /not supported by inner instructions$/ },
  // As above; LiteSVM drops an account without lamports after each call, a cluster only after the transaction.
  {
    name: 'account without lamports',
    line: /^Allocate: account Address .* already in use$|^Transfer: `from` must not carry data$/,
  },
  // A program compiled for the cluster does not see a call's changes to an executable account, and restores its lamports; a
  // native program sees them. Squads debits its own accounts only, so no other case exists.
  {
    name: 'lamports sent to a program',
    line: new RegExp(
      `^Program ${SQUADS_PROGRAM} failed: ${INSTRUCTION_ERROR_SENTENCES['ExternalAccountLamportSpend']}$`,
    ),
  },
  // The native program uses no compute units and no heap, which is at 0x300000000.
  {
    name: 'metering',
    line: /^Failed to create SBF VM: Computational budget exceeded$|^Program log: Error: memory allocation failed|^Program \S+ failed: (?:exceeded CUs meter|Computational budget exceeded|Program failed to complete|Access violation .* \(in heap region\)$|Access violation .* 0x3[0-9a-f]{8} \(in unallocated region\)$)/,
  },
];

/** Drops what only failures of the real program log: source location, both keys, and the return data of an earlier call. */
function comparable({ logs }: ExecutionResult): readonly string[] {
  let explains = false;
  return unmetered(logs).filter((line) => {
    explains = line.startsWith('Program log: ') && (explains || line.startsWith('Program log: AnchorError'));
    return !explains && !line.startsWith('Program return: ');
  });
}

export function knownDifference(native: ExecutionResult, real: ExecutionResult): string | undefined {
  const [ours, theirs] = [comparable(native), comparable(real)];
  const line = theirs.find((told, at) => told !== ours[at]);
  return line === undefined ? undefined : KNOWN.find((known) => known.line.test(line))?.name;
}
