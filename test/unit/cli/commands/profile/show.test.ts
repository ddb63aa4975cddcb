/** `flywheel profile show`: the profile in use, or one by its name, without its key. */
import { beforeAll, describe, expect, it } from 'vitest';
import { complaint, READER, refusal } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';

const API = 'https://api.example.com';

let home = '';
beforeAll(async () => {
  const cli = testCli({ stdin: 'fk_secret' });
  home = cli.home;
  await cli.run('profile', 'add', 'main', '--api-url', API, '--api-key-stdin', '--rpc-url', 'devnet');
  await cli.run('profile', 'add', 'other', '--data-dir', '/data');
});

describe('profile show', () => {
  it('prints the one in use, or the one that was named', async () => {
    const main = { name: 'main', current: true, hasApiKey: true, apiUrl: API, rpcUrl: 'devnet' };
    for (const words of [[], ['main'], ['-p', 'main']])
      expect(await testCli({ home }).run('profile', 'show', ...words)).toMatchObject({
        ...{ exit: 0, stdout: `${JSON.stringify(main)}\n`, stderr: '' },
      });
    expect(JSON.parse((await testCli({ home }).run('profile', 'show', 'other')).stdout)).toEqual({
      ...{ name: 'other', current: false, hasApiKey: false, dataDir: '/data' },
    });
  });

  it('tells people of the key only that it is there', async () => {
    const { stdout } = await testCli({ ...READER, home }).run('profile', 'show');
    expect(stdout).toBe(`main (current)\napi      ${API}\napi key  stored\nrpc      devnet\n`);
    expect((await testCli({ ...READER, home }).run('profile', 'show', 'other')).stdout).toContain(
      'none: the embedded engine',
    );
  });

  it('says so when there is none of that name, or none at all', async () => {
    const named = await testCli({ home }).run('profile', 'show', 'third');
    expect([named.exit, complaint(named.stderr)]).toEqual([
      2,
      {
        error: 'ERR_CONFIG_INVALID',
        message: 'There is no profile "third".',
        hint: '`flywheel profile list` shows those there are.',
      },
    ]);
    expect((await refusal(testCli(), 'profile', 'show'))[2]).toBe('No profile is in use.');
    expect((await refusal(testCli(), 'profile', 'show', 'a', 'b'))[1]).toBe('ERR_USAGE');
  });
});
