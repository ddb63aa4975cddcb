/** The journal of idempotency keys: what survives, what is reused, and by whom. */
import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFileJournal } from '../../../src/cli/journal/file-journal.js';
import { isRunning, processIdentity } from '../../../src/cli/journal/process-identity.js';
import { emptyDirectory } from '../../support/cli.js';

const REQUEST = { operation: 'burn', fingerprint: 'f'.repeat(64) };

function journalIn(directory: string, target = 'data', pid = process.pid) {
  return createFileJournal({ directory, target, pid, clock: { nowMs: () => Date.now() } });
}

/** What a process leaves behind that was killed while it held an entry. */
function abandon(directory: string, ageDays = 0): string {
  const entry = journalIn(directory).begin(REQUEST);
  const [file = ''] = readdirSync(directory);
  const [request] = file.split('.');
  entry.settle();
  const left = join(directory, `${request}.${entry.key}.999999999-1.json`);
  writeFileSync(left, '{}');
  const seconds = Date.now() / 1_000 - ageDays * 86_400;
  utimesSync(left, seconds, seconds);
  return entry.key;
}

describe('createFileJournal', () => {
  it('has the key on disk before it is used, for the user alone, and nothing after it is settled', () => {
    const directory = join(emptyDirectory(), 'journal');
    const entry = journalIn(directory).begin(REQUEST);
    const [file = ''] = readdirSync(directory);
    expect(file).toContain(entry.key);
    expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    entry.settle();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives the same key again after an unknown outcome, and a new one after a known one', () => {
    const directory = emptyDirectory();
    const first = journalIn(directory).begin(REQUEST);
    first.leave();
    const second = journalIn(directory).begin(REQUEST);
    expect(second).toMatchObject({ key: first.key, resumed: true });
    second.settle();
    const third = journalIn(directory).begin(REQUEST);
    expect(third.resumed).toBe(false);
    expect(third.key).not.toBe(first.key);
  });

  it('takes over from a process that is gone', () => {
    const directory = emptyDirectory();
    const key = abandon(directory);
    expect(journalIn(directory).begin(REQUEST)).toMatchObject({ key, resumed: true });
  });

  it('does not take the key of a process that still runs', () => {
    const directory = emptyDirectory();
    const first = journalIn(directory).begin(REQUEST);
    const second = journalIn(directory).begin(REQUEST);
    expect(second.resumed).toBe(false);
    expect(second.key).not.toBe(first.key);
    first.settle();
    second.settle();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('gives a left key to one of two takers only', () => {
    const directory = emptyDirectory();
    journalIn(directory).begin(REQUEST).leave();
    const takers = [journalIn(directory).begin(REQUEST), journalIn(directory).begin(REQUEST)];
    expect(takers.map(({ resumed }) => resumed)).toEqual([true, false]);
  });

  it('tells requests and targets apart', () => {
    const directory = emptyDirectory();
    journalIn(directory).begin(REQUEST).leave();
    expect(journalIn(directory, 'elsewhere').begin(REQUEST).resumed).toBe(false);
    expect(journalIn(directory).begin({ ...REQUEST, operation: 'initBatch' }).resumed).toBe(false);
    expect(journalIn(directory).begin({ ...REQUEST, fingerprint: 'e'.repeat(64) }).resumed).toBe(false);
  });

  it('forgets keys that the service may have forgotten', () => {
    const directory = emptyDirectory();
    abandon(directory, 31);
    expect(journalIn(directory).begin(REQUEST).resumed).toBe(false);
  });

  it('sends nothing when the key cannot be kept', () => {
    const directory = emptyDirectory();
    writeFileSync(join(directory, 'journal'), 'a file in the way');
    expect(() => journalIn(join(directory, 'journal')).begin(REQUEST)).toThrow(/nothing was sent/);
  });
});

describe('processIdentity', () => {
  it('is that of a running process until the number is given to another', () => {
    const self = processIdentity(process.pid);
    expect(isRunning(self)).toBe(true);
    expect(isRunning(`${process.pid}-1`)).toBe(false);
    expect(isRunning('999999999-1')).toBe(false);
    expect(isRunning('1-x')).toBe(false);
  });
});
