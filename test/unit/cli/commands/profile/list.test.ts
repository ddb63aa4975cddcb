/** `flywheel profile list`: every profile by its name, and never a key. */
import { describe, expect, it } from 'vitest';
import { READER, refusal } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

const API = 'https://api.example.com';

/** Two profiles, of which the one that was added first is in use. */
async function withProfiles(): Promise<string> {
  const cli = testCli({ stdin: 'fk_secret' });
  await cli.run('profile', 'add', 'staging', '--api-url', API, '--api-key-stdin');
  await cli.run('profile', 'add', 'local', '--data-dir', '/data');
  return cli.home;
}

describe('profile list', () => {
  it('prints them by name, or a line each', async () => {
    const home = await withProfiles();
    const profiles = [
      { name: 'local', current: false, hasApiKey: false, dataDir: '/data' },
      { name: 'staging', current: true, hasApiKey: true, apiUrl: API },
    ];
    const { exit, stdout, stderr } = await testCli({ home }).run('profile', 'list');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(profiles)}\n`, '']);
    expect((await testCli({ home }).run('profile', 'list', '--output', 'ndjson')).stdout).toBe(
      profiles.map((profile) => `${JSON.stringify(profile)}\n`).join(''),
    );
  });

  it('marks for people the one in use', async () => {
    const { stdout } = await testCli({ ...READER, home: await withProfiles() }).run('profile', 'list');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/ +/));
    expect(lines.slice(1)).toEqual([
      ['local', 'embedded', 'none'],
      ['*', 'staging', API, 'stored'],
    ]);
  });

  it('is empty at first, and says to people how to make one', async () => {
    expect((await testCli().run('profile', 'list')).stdout).toBe('[]\n');
    expect((await testCli(READER).run('profile', 'list')).stdout).toMatch(
      /^There is no profile; `flywheel profile add NAME/,
    );
  });

  it('takes no argument', async () => {
    expect((await refusal(testCli(), 'profile', 'list', 'staging')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
