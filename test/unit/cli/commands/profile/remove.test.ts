/** `flywheel profile remove`: the profile and its key are gone, unless something of it is not settled. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteJournal } from '../../../../../src/cli/journal/sqlite-journal.js';
import { sha256 } from '../../../../../src/values/digest.js';
import { randomIds } from '../../../../../src/values/ids.js';
import { complaint, READER, refusal } from '../../../../support/commands.js';
import { NOW_MS, type TestCli, testCli } from '../../../../support/in-process.js';

const API = 'https://api.example.com';

async function withProfile(): Promise<TestCli> {
  const cli = testCli({ stdin: 'fk_secret' });
  await cli.run('profile', 'add', 'staging', '--api-url', API, '--api-key-stdin');
  return cli;
}

const names = async (cli: TestCli) =>
  JSON.parse((await cli.run('profile', 'list')).stdout).map(({ name }: { name: string }) => name);

describe('profile remove', () => {
  it('takes the profile and its key away', async () => {
    const cli = await withProfile();
    const { exit, stdout, stderr } = await cli.run('profile', 'remove', 'staging');
    expect([exit, stdout, stderr]).toEqual([0, '{"removed":"staging"}\n', '']);
    expect(await names(cli)).toEqual([]);
    const keys = readFileSync(join(cli.home, '.config/flywheel/api-keys.json'), 'utf8');
    expect(JSON.parse(keys)).toEqual({});
  });

  it('leaves no profile in use when it was that one, and says what it did to people', async () => {
    const { home } = await withProfile();
    await testCli({ home }).run('profile', 'add', 'other');
    const { stdout } = await testCli({ ...READER, home }).run('profile', 'remove', 'staging');
    expect(stdout).toBe('Removed the profile staging.\n');
    expect((await refusal(testCli({ home }), 'profile', 'show'))[2]).toBe('No profile is in use.');
    expect(await names(testCli({ home }))).toEqual(['other']);
  });

  it.each([
    [['other'], 'ERR_CONFIG_INVALID', 'There is no profile "other" in '],
    [['../x'], 'ERR_INPUT_INVALID', 'A profile name has 1 to 64 letters'],
    [[], 'ERR_USAGE', "Missing required argument 'name'"],
  ])('refuses %j and removes nothing', async (words, code, message) => {
    const cli = await withProfile();
    expect(await refusal(cli, 'profile', 'remove', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(await names(cli)).toEqual(['staging']);
  });

  it('removes none of which an operation is pending', async () => {
    const cli = await withProfile();
    const directory = join(cli.home, '.config/flywheel');
    const clock = { nowMs: () => NOW_MS };
    const processes = { self: () => 'p', isRunning: () => false };
    const target = { place: API, profile: 'staging' };
    const journal = await openSqliteJournal({ directory, target, processes, clock, ids: randomIds });
    const begun = journal.begin({
      ...{ kind: 'burn', content: sha256('x'), origin: { from: 'chance' }, elements: [], again: false },
      ...{ body: () => '{}', notes: () => ({}), command: ['burn'] },
    });
    const { exit, stderr } = await cli.run('profile', 'remove', 'staging', '--yes');
    expect([exit, complaint(stderr).hint]).toEqual([2, expect.stringContaining('pending resume -p staging')]);
    expect(await names(cli)).toEqual(['staging']);
    if (begun.status === 'taken') begun.entry.remove();
    journal.close();
    expect((await cli.run('profile', 'remove', 'staging', '--yes')).exit).toBe(0);
  });
});
