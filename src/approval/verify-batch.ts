/** Did a batch do on chain what a file says? Proven from its transactions alone: what they hold, which of them ran, what that moved. */

import type { PipelineContent } from '../actions/pipelines.js';
import type { TokenChange, TransactionRecord } from '../chain/chain.js';
import type { Flywheel } from '../chain/flywheel.js';
import type { PastDescription } from './past-content.js';
import { expectedChanges } from './simulate.js';

/** Whether the balances that the chain has kept agree. */
export type Balances = 'agree' | 'differ' | 'not kept';

/** What was moved by the transactions that ran. */
interface MovedTokens {
  readonly balances: Balances;
  /** Every account that has not changed as the executed pipelines say, with its transaction. */
  readonly differences: readonly string[];
}

/**
 * Holds what token accounts held before and after each execution against what the executed pipelines say.
 * @param feeCharged - the mint withholds a fee, so that recipients may get less.
 */
export function checkBalances(past: PastDescription, flywheel: Flywheel, feeCharged: boolean): MovedTokens {
  const executions = byExecution(past);
  const differences = executions.flatMap(({ record: { tokenChanges, signature }, pipelines }) =>
    tokenChanges === undefined
      ? []
      : changeProblems(tokenChanges, pipelines, flywheel, feeCharged).map(
          (problem) => `transaction ${signature}: ${problem}`,
        ),
  );
  if (differences.length > 0) return { balances: 'differ', differences };
  const areKept = executions.every(({ record }) => record.tokenChanges !== undefined);
  return { balances: areKept && executions.length > 0 ? 'agree' : 'not kept', differences };
}

interface Execution {
  readonly record: TransactionRecord;
  readonly pipelines: PipelineContent[];
}

/** Pipelines by the transaction that executed them; one may execute several. */
function byExecution({ executions, pipelines }: PastDescription): readonly Execution[] {
  const found = new Map<string, Execution>();
  executions.forEach((record, at) => {
    const pipeline = pipelines?.[at];
    if (record === null || pipeline === undefined) return;
    const execution = found.get(record.signature) ?? { record, pipelines: [] };
    execution.pipelines.push(pipeline);
    found.set(record.signature, execution);
  });
  return [...found.values()];
}

function changeProblems(
  changes: readonly TokenChange[],
  pipelines: readonly PipelineContent[],
  flywheel: Flywheel,
  feeCharged: boolean,
): readonly string[] {
  const { accounts } = expectedChanges({ pipelines }, flywheel);
  const actual = new Map(
    changes.filter(({ mint }) => mint === flywheel.mint).map((change) => [change.account, change]),
  );
  const addresses = new Set([...accounts.keys(), ...actual.keys()]);
  return [...addresses].flatMap((address) => {
    const change = actual.get(address);
    const moved = change === undefined ? 0n : change.after - (change.before ?? 0n);
    const expected = accounts.get(address) ?? 0n;
    const isLess = feeCharged && address !== flywheel.vaultTokenAccount && moved >= 0n && moved < expected;
    return moved === expected || isLess
      ? []
      : [`token account ${address} changed by ${moved} base units, but its pipelines say ${expected}`];
  });
}
