/** Settings and profiles: precedence, sources, files and their permissions. */
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import { testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';

const API = 'https://api.example.com/base';

async function withProfile(env: Record<string, string> = {}) {
  const first = testCli({ stdin: 'fk_profile_key\n' });
  const added = await first.run('profile', 'add', 'staging', '--api-url', `${API}/`, '--api-key-stdin');
  return { added, cli: testCli({ home: first.home, env }), home: first.home };
}

const row = async (cli: ReturnType<typeof testCli>, ...words: string[]) =>
  JSON.parse((await cli.run('whoami', ...words)).stdout);

describe('profile', () => {
  it('keeps settings and key in two files that only the user can read', async () => {
    const { added, home } = await withProfile();
    expect(added).toMatchObject({ exit: 0, stderr: '' });
    expect(JSON.parse(added.stdout)).toEqual({
      name: 'staging',
      current: true,
      hasApiKey: true,
      apiUrl: API,
    });
    const directory = join(home, '.config/flywheel');
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const file of ['profiles.json', 'api-keys.json'])
      expect(statSync(join(directory, file)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory, 'profiles.json'), 'utf8')).not.toContain('fk_profile_key');
  });

  it('does not send elsewhere what names a data directory', async () => {
    const { cli } = await withProfile({ FLYWHEEL_API_URL: API });
    expect((await row(cli)).target.value).toBe('remote');
    expect((await row(cli, '--data-dir', 'd2')).target.value).not.toBe('remote');
    expect((await row(cli, '--data-dir', 'd2', '-p', 'staging')).target.value).toBe('remote');
    expect((await row(cli, '--data-dir', 'd2', '--api-url', API)).target.value).toBe('remote');
  });

  it('changes only what is given, and is gone with its key after remove', async () => {
    const { cli, home } = await withProfile();
    await cli.run('profile', 'add', 'staging', '--rpc-url', 'https://rpc.example.com');
    expect(JSON.parse((await cli.run('profile', 'show')).stdout)).toMatchObject({
      apiUrl: API,
      rpcUrl: 'https://rpc.example.com',
      hasApiKey: true,
    });
    expect((await cli.run('profile', 'remove', 'staging')).exit).toBe(0);
    expect(readFileSync(join(home, '.config/flywheel/api-keys.json'), 'utf8')).not.toContain(
      'fk_profile_key',
    );
    expect(JSON.parse((await cli.run('profile', 'list')).stdout)).toEqual([]);
    expect((await cli.run('profile', 'use', 'staging')).exit).toBe(2);
  });

  it('is shown with all that is pinned, in plain words', async () => {
    const { home } = await withProfile();
    const [multisig, owner, operator, mint] = ['multisig', 'owner', 'operator', 'mint'].map(namedAddress);
    const facts = { timeLockSeconds: '60', [`member ${owner}`]: 'vote', 'mint.freezeAuthority': 'none' };
    const file = join(home, '.config/flywheel/profiles.json');
    const stored = JSON.parse(readFileSync(file, 'utf8'));
    stored.profiles.staging.pinned = { multisig, owner, operator, vaultIndex: 0, mint, facts };
    writeFileSync(file, JSON.stringify(stored));
    const { stdout } = await testCli({ home, env: { NO_COLOR: '1' }, tty: { stdout: true } }).run(
      'profile',
      'show',
    );
    expect(stdout).toMatch(/time lock +60 s\n/);
    expect(stdout).toMatch(new RegExp(`member +${owner}\n +vote\nmint +${mint}\n +freeze authority +none`));
    expect(stdout).not.toContain('[object');
  });

  it('says which profile is in use', async () => {
    const { home } = await withProfile();
    const cli = testCli({ home, tty: { stdout: true }, env: { NO_COLOR: '1' } });
    expect((await cli.run('profile', 'add', 'other', '--api-url', API)).exit).toBe(0);
    expect((await cli.run('profile', 'show', 'staging')).stdout).toMatch(/^staging \(current\)\n/);
    expect((await cli.run('profile', 'show', 'other')).stdout).toMatch(/^other\n/);
  });

  it.each(['', '../x', '__proto__', 'a b'])('refuses the name %j', async (name) => {
    expect((await testCli().run('profile', 'add', name)).exit).toBe(2);
  });

  it('refuses a damaged file, naming it', async () => {
    const { cli, home } = await withProfile();
    const file = join(home, '.config/flywheel/profiles.json');
    writeFileSync(file, '{"current":');
    const { exit, stderr } = await cli.run('whoami');
    expect(exit).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({
      error: 'ERR_CONFIG_INVALID',
      message: `${file}: is not JSON.`,
    });
  });

  it('changes nothing when the file of the keys is damaged, and names it', async () => {
    const { home } = await withProfile();
    const cli = testCli({ home, stdin: 'fk_another_key' });
    const [profiles, keys] = ['profiles', 'api-keys'].map((name) =>
      join(home, `.config/flywheel/${name}.json`),
    ) as [string, string];
    const before = readFileSync(profiles, 'utf8');
    writeFileSync(keys, '{');
    for (const words of [
      ['add', 'another', '--api-key-stdin'],
      ['remove', 'staging'],
    ]) {
      const { exit, stderr } = await cli.run('--local', 'profile', ...words);
      expect(exit).toBe(2);
      expect(JSON.parse(stderr).message).toBe(`${keys}: is not JSON.`);
    }
    expect(readFileSync(profiles, 'utf8')).toBe(before);
  });

  it('keeps in the file what it does not know', async () => {
    const { cli, home } = await withProfile();
    const file = join(home, '.config/flywheel/profiles.json');
    const { profiles, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
    const added = { ...rest, profiles: { staging: { ...profiles.staging, later: 1 } }, later: [2] };
    writeFileSync(file, JSON.stringify(added));
    expect((await cli.run('profile', 'add', 'staging', '--rpc-url', 'https://r.example')).exit).toBe(0);
    expect((await cli.run('profile', 'add', 'other')).exit).toBe(0);
    expect((await cli.run('profile', 'remove', 'other')).exit).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      later: [2],
      profiles: { staging: { later: 1, rpcUrl: 'https://r.example' } },
    });
  });

  it('does not use a key that others can read', async () => {
    const { cli, home } = await withProfile();
    chmodSync(join(home, '.config/flywheel/api-keys.json'), 0o644);
    const { exit, stderr } = await cli.run('whoami');
    expect(exit).toBe(2);
    expect(JSON.parse(stderr).hint).toContain('chmod 600');
  });
});

describe('resolveSettings', () => {
  it('follows FLYWHEEL_ and XDG variables to its directories', () => {
    const { context, home } = testCli();
    const at = (env: Record<string, string>) => {
      const settings = resolveSettings({ ...context, env }, {});
      return [settings.configDir.value, settings.dataDir.value];
    };
    expect(at({})).toEqual([join(home, '.config/flywheel'), join(home, '.local/share/flywheel')]);
    expect(at({ XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d' })).toEqual(['/c/flywheel', '/d/flywheel']);
    expect(at({ FLYWHEEL_CONFIG_DIR: 'x', FLYWHEEL_DATA_DIR: '/y' })).toEqual([join(home, 'x'), '/y']);
  });
});
