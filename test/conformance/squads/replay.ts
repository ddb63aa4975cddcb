/** Runs one vector on a runtime and says, field by field, what differs from what was recorded. */

import type { AccountState } from '../../../src/chain/account.js';
import type {
  AccountSource,
  ExecutionResult,
  Runtime,
  RuntimeClock,
} from '../../../src/chain/local/runtime/runtime.js';
import type { Address } from '../../../src/values/address.js';
import { partOf, type ReadonlyBytes, readBuffer } from '../../../src/values/bytes.js';
import { LedgerAccounts } from '../../support/ledger-accounts.js';
import { toResult, toState, type Vector, type VectorResult } from './vector.js';

/** A line that counts compute units, which only the real program's metering gives. */
const METERED_LINE = /^Program \S+ consumed \d+ of \d+ compute units$/;
/** A line by which a program begins or ends; a failure's other lines are the program's own words. */
const CALL_LINE = /^Program \S+ (?:invoke \[|success$|failed: )/;
const SHOWN_BYTES = 16;

/** What a log says whoever meters it. */
export const unmetered = (logs: readonly string[]): readonly string[] =>
  logs.filter((line) => !METERED_LINE.test(line));
const calls = (logs: readonly string[]): readonly string[] => logs.filter((line) => CALL_LINE.test(line));

const withoutName = (result: VectorResult): string =>
  JSON.stringify(result, (field, value) => (field === 'name' ? undefined : value));

function differingBytes(expected: ReadonlyBytes, actual: ReadonlyBytes): string | undefined {
  if (expected.length !== actual.length) return `length: expected ${expected.length}, got ${actual.length}`;
  const at = [...expected].findIndex((byte, index) => byte !== actual[index]);
  if (at < 0) return undefined;
  const show = (bytes: ReadonlyBytes) => readBuffer(partOf(bytes, at, at + SHOWN_BYTES)).toString('hex');
  return `data from byte ${at}: expected ${show(expected)}…, got ${show(actual)}…`;
}

function accountDifferences(expected: AccountState | null, actual: AccountState | null): string[] {
  if (expected === null || actual === null) {
    if (expected === actual) return [];
    return [expected === null ? 'expected to be gone, is there' : 'expected to be there, is gone'];
  }
  const differences: string[] = [];
  for (const field of ['lamports', 'owner', 'executable', 'rentEpoch'] as const) {
    if (expected[field] !== actual[field]) {
      differences.push(`${field}: expected ${expected[field]}, got ${actual[field]}`);
    }
  }
  const bytes = differingBytes(expected.data, actual.data);
  return bytes === undefined ? differences : [...differences, bytes];
}

function logDifferences(expected: readonly string[], actual: readonly string[]): string[] {
  const length = Math.max(expected.length, actual.length);
  for (let line = 0; line < length; line += 1) {
    if (expected[line] !== actual[line]) {
      return [
        `log line ${line}: expected ${JSON.stringify(expected[line])}, got ${JSON.stringify(actual[line])}`,
      ];
    }
  }
  return [];
}

/** The accounts of a vector before its transaction, by address. */
export const statesOf = (vector: Vector): (readonly [Address, AccountState | null])[] =>
  Object.entries(vector.pre).map(([key, account]) => [key as Address, toState(account)]);

/** Runs a transaction in memory that its sender uses for something else as soon as it has run. */
export function executeOnce(
  runtime: Runtime,
  transaction: Uint8Array,
  source: AccountSource,
  clock: RuntimeClock,
): ExecutionResult {
  const bytes = Buffer.from(transaction);
  const result = runtime.execute(bytes, source, clock);
  bytes.fill(0xff);
  return result;
}

/** Runs the transaction of a vector on accounts, which are those of the vector or at least named like them. */
export const execute = (runtime: Runtime, vector: Vector, source: AccountSource): ExecutionResult =>
  executeOnce(runtime, Buffer.from(vector.transaction, 'base64'), source, {
    slot: BigInt(vector.clock.slot),
    epoch: BigInt(vector.clock.epoch),
    unixTimestamp: BigInt(vector.clock.unixTimestamp),
  });

/**
 * Replays a vector.
 * @param metered - the real program runs, so that every log line counts, of failures too.
 * @returns one line a difference; none when all is as recorded.
 */
export function differences(runtime: Runtime, vector: Vector, metered: boolean): readonly string[] {
  const source = new LedgerAccounts(statesOf(vector));
  const { error, changes, logs } = execute(runtime, vector, source);
  const found: string[] = [...source.changedInPlace()];
  const [expected, actual] = [withoutName(vector.result), withoutName(toResult(error))];
  if (expected !== actual) found.push(`result: expected ${expected}, got ${actual}`);
  for (const key of new Set([...Object.keys(vector.post), ...changes.keys()])) {
    const before = toState(vector.pre[key] ?? null);
    const after = key in vector.post ? toState(vector.post[key] ?? null) : before;
    const changed = changes.get(key as Address);
    const differing = accountDifferences(after, changed === undefined ? before : changed);
    found.push(...differing.map((difference) => `account ${key}: ${difference}`));
  }
  if (metered) found.push(...logDifferences(vector.logs, logs));
  else {
    const counted = vector.result === 'ok' ? unmetered : calls;
    found.push(...logDifferences(counted(vector.logs), counted(logs)));
  }
  return found;
}
