/** What running a transaction comes to. */
import type { Address } from '../../../values/address.js';
import type { AccountState } from '../../account.js';
import type { TransactionError } from '../../chain.js';

/** What a transaction did. */
export interface ExecutionResult {
  readonly error: TransactionError | null;
  /** `false`: it could not start, and nothing is charged. */
  readonly landed: boolean;
  /** All accounts that differ now, `null` where one is gone; of a failed transaction its fee payer. */
  readonly changes: ReadonlyMap<Address, AccountState | null>;
  readonly logs: readonly string[];
  /** As metered by LiteSVM; Squads instructions that run natively add nothing of their own. */
  readonly computeUnits: bigint;
  readonly feeLamports: bigint;
}

/** Of a transaction that does not start. */
export const refused = (error: string | TransactionError, logs: readonly string[] = []): ExecutionResult => ({
  error: typeof error === 'string' ? { kind: 'transaction', error } : error,
  landed: false,
  changes: new Map(),
  logs,
  computeUnits: 0n,
  feeLamports: 0n,
});
