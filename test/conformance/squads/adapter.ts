/** Runs one transaction on given accounts; the only file of these tests that imports the tested program. */

import { readFileSync } from 'node:fs';
import type { TransactionError } from '../../../src/chain/chain.js';
import { Runtime } from '../../../src/chain/local/runtime/runtime.js';
import type { Address } from '../../../src/values/address.js';
import { copyBytes } from '../../../src/values/bytes.js';
import { REAL_SQUADS } from '../../support/spawn.js';
import { LedgerAccounts } from './ledger-accounts.js';
import type { Accounts, Clock, VectorResult } from './vector.js';

export interface Outcome {
  readonly result: VectorResult;
  readonly changes: Accounts;
  readonly logs: readonly string[];
  /** One line for each input account whose bytes were overwritten. */
  readonly spoiled: readonly string[];
}

export interface RunOptions {
  readonly clock: Clock;
  /** @default true */
  readonly verifySignatures?: boolean;
}

export type Run = (transaction: Uint8Array, accounts: Accounts, options: RunOptions) => Outcome;

/** The result of a transaction in the format of the vectors. */
export function toResult(error: TransactionError | null): VectorResult {
  if (error === null) return 'ok';
  if (error.kind === 'transaction') {
    return error.accountIndex === undefined
      ? { transaction: error.error }
      : { transaction: error.error, accountIndex: error.accountIndex };
  }
  return 'custom' in error
    ? { instruction: error.index, custom: error.custom }
    : { instruction: error.index, error: error.error };
}

/** The real program from SQUADS_PROGRAM; without it the embedded program runs. */
export const REAL_PROGRAM: Uint8Array | null = REAL_SQUADS === undefined ? null : readFileSync(REAL_SQUADS);

/** A machine with the Squads program; create one a process. @param squadsProgram - `null`: the embedded program. */
export function createRun(squadsProgram = REAL_PROGRAM): Run {
  const runtime = new Runtime(squadsProgram === null ? {} : { squadsProgram });
  return (transaction, accounts, { clock, verifySignatures = true }) => {
    const source = new LedgerAccounts(
      [...accounts].map(([address, account]) => [
        address as Address,
        account === null ? null : { ...account, owner: account.owner as Address },
      ]),
    );
    const bytes = Buffer.from(transaction);
    const { error, changes, logs } = runtime.execute(bytes, source, clock, { verifySignatures });
    // A sender reuses the buffer after the transaction has run.
    bytes.fill(0xff);
    return {
      result: toResult(error),
      changes: new Map(
        [...changes].map(([address, state]) => [
          address,
          state === null ? null : { ...state, data: copyBytes(state.data) },
        ]),
      ),
      logs,
      spoiled: source.changedInPlace(),
    };
  };
}
