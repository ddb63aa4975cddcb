import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { LEDGER } from '../../../src/chain/local/ledger/tables.js';
import { isEmptyJournal, prepareJournal } from '../../../src/cli/journal/schema.js';
import { isEmptyFile, openSqliteFile, prepareFile, type SqliteFile } from '../../../src/files/sqlite-file.js';
import { emptyDirectory } from '../../support/spawn.js';

/** Two processes with the same new file open: one writes the schema while the other identifies the file. */
async function twoAt(noun: string): Promise<readonly [looking: SqliteFile, filling: SqliteFile]> {
  const path = join(emptyDirectory(), `${noun}.db`);
  const looking = await openSqliteFile({ noun, path, create: true });
  return [looking, await openSqliteFile({ noun, path, create: true })];
}

describe.each([
  [
    'ledger',
    (file: SqliteFile) => isEmptyFile(file, LEDGER),
    (file: SqliteFile) => prepareFile(file, LEDGER, () => undefined),
  ],
  ['journal', isEmptyJournal, prepareJournal],
])('a look at a new %s that another process fills meanwhile', (noun, isEmpty, fill) => {
  it.each([1, 2, 3])('takes it for an empty one, filled after %i of its reads', async (reads) => {
    const [looking, filling] = await twoAt(noun);
    const { number } = looking;
    const spy = vi.spyOn(looking, 'number').mockImplementation((sql) => {
      const value = number.call(looking, sql);
      if (spy.mock.calls.length === reads) fill(filling);
      return value;
    });
    expect(isEmpty(looking)).toBe(true);
    expect(spy.mock.calls.length).toBeGreaterThanOrEqual(reads);
    spy.mockRestore();
    expect(isEmpty(looking)).toBe(false);
    looking.close();
    filling.close();
  });

  it('refuses one whose tables another build has made', async () => {
    const [looking, filling] = await twoAt(noun);
    fill(filling);
    filling.exec('PRAGMA user_version = 2');
    expect(() => isEmpty(looking)).toThrow(/ was written by another build of flywheel\.$/);
    expect(() => fill(looking)).toThrow(/ was written by another build of flywheel\.$/);
    looking.close();
    filling.close();
  });

  it('fills it once', async () => {
    const [looking, filling] = await twoAt(noun);
    fill(filling);
    fill(looking);
    expect(isEmpty(looking)).toBe(false);
    looking.close();
    filling.close();
  });
});
