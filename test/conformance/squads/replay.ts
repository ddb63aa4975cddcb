/** Replays one vector and lists each field that differs from the recording. */
import type { Run } from './adapter.js';
import {
  type Account,
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
const SHOWN_BYTES = 16;

/** The log lines that do not depend on metering. */
export const unmetered = (logs: readonly string[]): readonly string[] =>
  logs.filter((line) => !METERED_LINE.test(line));
const calls = (logs: readonly string[]): readonly string[] => logs.filter((line) => CALL_LINE.test(line));

const withoutName = (result: VectorResult): string =>
  JSON.stringify(result, (field, value) => (field === 'name' ? undefined : value));

function differingBytes(expected: Uint8Array, actual: Uint8Array): string | undefined {
  if (expected.length !== actual.length) return `length: expected ${expected.length}, got ${actual.length}`;
  const at = expected.findIndex((byte, index) => byte !== actual[index]);
  if (at < 0) return undefined;
  const show = (bytes: Uint8Array) => Buffer.from(bytes.subarray(at, at + SHOWN_BYTES)).toString('hex');
  return `data from byte ${at}: expected ${show(expected)}…, got ${show(actual)}…`;
}

function accountDifferences(expected: Account | null, actual: Account | null): string[] {
  if (expected === null || actual === null) {
    if (expected === actual) return [];
    return [expected === null ? 'expected to be gone, is there' : 'expected to be there, is gone'];
  }
  const differences: string[] = [];
  for (const field of ['lamports', 'owner', 'executable'] as const) {
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

/**
 * @param metered - the real program runs, so all log lines have to match, also of failures. @returns one line a difference; empty
 * if none.
 */
export function differences(run: Run, vector: Vector, metered: boolean): readonly string[] {
  const accounts = accountsOf(vector);
  const { result, changes, logs, spoiled } = run(transactionOf(vector), accounts, { clock: clockOf(vector) });
  const found: string[] = [...spoiled];
  const [expected, actual] = [withoutName(vector.result), withoutName(result)];
  if (expected !== actual) found.push(`result: expected ${expected}, got ${actual}`);
  for (const key of new Set([...Object.keys(vector.post), ...changes.keys()])) {
    const before = accounts.get(key) ?? null;
    const after = key in vector.post ? toAccount(vector.post[key] ?? null) : before;
    const changed = changes.get(key);
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
