/** What the native program is known to do otherwise than the real one: met, counted and let pass. The runner's README lists them. */
import type { ExecutionResult } from '../../src/chain/local/runtime/runtime.js';

interface KnownDifference {
  readonly name: string;
  /** Is this the end that only the real program comes to? */
  readonly shows: (real: ExecutionResult) => boolean;
}

const says = ({ logs }: ExecutionResult, words: string): boolean => logs.some((line) => line.includes(words));

const KNOWN: readonly KnownDifference[] = [
  // The machine runs an inner call as if it stood in the transaction itself, where Token-2022 has nothing against it.
  { name: 'CPI guard', shows: (real) => says(real, 'CPI Guard is enabled, and a program attempted') },
  // As above; LiteSVM runs what a cluster lets only a transaction call.
  { name: 'inner precompile', shows: (real) => says(real, 'not supported by inner instructions') },
  // A program compiled for the cluster does not see what a call did to an executable account, and gives its lamports back
  // as they were; a native program sees everything. Squads itself debits no account but its own, so nothing else ends so.
  {
    name: 'lamports sent to a program',
    shows: ({ error }) => error !== null && 'error' in error && error.error === 'ExternalAccountLamportSpend',
  },
];

/** The known difference that a transaction meets when it ends on the real program as it did, or `undefined`. */
export const knownDifference = (real: ExecutionResult): string | undefined =>
  KNOWN.find(({ shows }) => shows(real))?.name;
