/** Replays one vector and lists each field that differs from the recording. */
import assert from 'node:assert/strict';
import type { Run } from './adapter.js';
import {
  type Accounts,
  accountsOf,
  clockOf,
  toAccount,
  transactionOf,
  type Vector,
  type VectorResult,
} from './vector.js';

/** A line that counts compute units; only the real program's metering has it. */
const METERED_LINE = /^Program \S+ consumed \d+ of \d+ compute units$/;
/** A line at a program's start or end; other lines of a failure are the program's own. */
const CALL_LINE = /^Program \S+ (?:invoke \[|success$|failed: )/;

/** The log lines that do not depend on metering. */
export const unmetered = (logs: readonly string[]): readonly string[] =>
  logs.filter((line) => !METERED_LINE.test(line));
const calls = (logs: readonly string[]): readonly string[] => logs.filter((line) => CALL_LINE.test(line));

const withoutName = (result: VectorResult): string =>
  JSON.stringify(result, (field, value) => (field === 'name' ? undefined : value));

const plain = (accounts: Accounts) =>
  new Map(
    [...accounts].flatMap(([address, account]) => {
      if (account === null) return [];
      const { lamports, owner, executable, data } = account;
      return [[address, { lamports, owner, executable, data: Buffer.from(data).toString('hex') }]];
    }),
  );

/**
 * @param metered - the real program runs, so all log lines have to match, also of failures. @returns what differs; empty if
 * nothing does.
 */
export function differences(run: Run, vector: Vector, metered: boolean): readonly string[] {
  const before = accountsOf(vector);
  const { result, changes, logs, spoiled } = run(transactionOf(vector), before, { clock: clockOf(vector) });
  const recorded = Object.entries(vector.post).map(
    ([address, account]) => [address, toAccount(account)] as const,
  );
  const counted = vector.result === 'ok' ? unmetered : calls;
  const comparable = (end: VectorResult, after: Accounts, lines: readonly string[]) => ({
    result: withoutName(end),
    accounts: plain(new Map([...before, ...after])),
    logs: metered ? lines : counted(lines),
  });
  try {
    const expected = comparable(vector.result, new Map(recorded), vector.logs);
    assert.deepEqual(comparable(result, changes, logs), expected);
    return spoiled;
  } catch (error) {
    return [...spoiled, (error as Error).message];
  }
}
