/** `flywheel profile`: stores settings for the user only; pins a project after it was shown and confirmed. */
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pins } from '../../../../src/approval/pins.js';
import { honestWorld } from '../../../attacks/world.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { chainIn, HONEST_PINS } from '../approval-world.js';
import { complaint, person, refusal } from '../single-command.js';

const API = 'https://api.example.com';
const PINS = {
  ...{ multisig: namedAddress('multisig'), owner: namedAddress('owner') },
  ...{ operator: namedAddress('operator'), mint: namedAddress('mint') },
};
const PINNED = Object.entries(PINS).flatMap(([name, address]) => [`--${name}`, address]);

const pathOf = ({ home }: TestCli, file = 'profiles') => join(home, `.config/flywheel/${file}.json`);
const stored = (cli: TestCli, file?: string) => JSON.parse(readFileSync(pathOf(cli, file), 'utf8'));
const json = async (cli: TestCli, ...words: string[]) => JSON.parse((await cli.run(...words)).stdout);

async function withProfile(name = 'main'): Promise<TestCli> {
  const cli = testCli({ stdin: ' fk_secret\n' });
  expect((await cli.run('profile', 'add', name, '--api-url', `${API}/`, '--api-key-stdin')).exit).toBe(0);
  return cli;
}

describe('profile', () => {
  it('stores what was typed, global options among it, in two files for the user alone, and never shows the key', async () => {
    const env = { FLYWHEEL_API_KEY: 'fk_env', FLYWHEEL_RPC_URL: 'devnet' };
    const cli = testCli({ stdin: ' fk_secret\n', env });
    const rpc = 'https://rpc.example.com/v2/KEY123456';
    const place = ['--api-url', `${API}/`, '--api-key-header', 'X-Key'];
    const words = [...place, '--data-dir', 'd', '--keypair', 'id.json'];
    const more = ['--rpc-url', rpc, '--rpc-url', 'devnet', '--quorum', '2', '--api-key-stdin', ...PINNED];
    const { exit, stdout, stderr } = await cli.run('profile', 'add', 'main', ...words, ...more);
    const [dataDir, keypair] = ['d', 'id.json'].map((name) => join(cli.home, name));
    const profile = {
      ...{ apiUrl: API, apiKeyHeader: 'x-key', dataDir, keypair },
      ...{ rpcUrl: [rpc, 'devnet'], rpcQuorum: 2, pinned: { ...PINS, vaultIndex: 0 } },
    };
    const shown = { ...profile, rpcUrl: ['https://rpc.example.com/***', 'devnet'] };
    expect([exit, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({ name: 'main', current: true, hasApiKey: true, ...shown });
    expect(stored(cli)).toEqual({ current: 'main', profiles: { main: profile } });
    expect(stored(cli, 'api-keys')).toEqual({ main: 'fk_secret' });
    expect(statSync(join(cli.home, '.config/flywheel')).mode & 0o777).toBe(0o700);
    for (const file of ['profiles', 'api-keys']) expect(statSync(pathOf(cli, file)).mode & 0o777).toBe(0o600);
    for (const what of [['profile', 'list'], ['whoami']])
      for (const form of ['json', 'human'])
        expect((await cli.run(...what, '--output', form)).stdout).not.toMatch(/KEY123|fk_secret/);
  });

  it('changes only what is given, names the one in use, and is gone with its key after remove', async () => {
    const cli = await withProfile();
    const there = await refusal(cli, 'profile', 'add', 'main', '--keypair', 'other.json');
    expect(there.slice(0, 2)).toEqual([2, 'ERR_CONFIG_INVALID']);
    expect(await json(cli, 'profile', 'add', 'main', '--update', '--keypair', 'other.json')).toMatchObject({
      ...{ apiUrl: API, keypair: join(cli.home, 'other.json'), hasApiKey: true },
    });
    expect(await json(cli, 'profile', 'add', 'second', '--api-url', 'https://second.example')).toMatchObject({
      ...{ name: 'second', current: false, hasApiKey: false },
    });
    expect(await json(cli, 'profile', 'list')).toMatchObject([{ name: 'main' }, { name: 'second' }]);
    expect(await json(cli, 'profile', 'use', 'second')).toEqual({ current: 'second' });
    expect((await json(cli, 'whoami')).apiUrl.value).toBe('https://second.example');
    expect(await json(cli, 'profile', 'remove', 'main')).toEqual({ removed: 'main' });
    expect(stored(cli, 'api-keys')).toEqual({});
    expect(await json(cli, 'profile', 'list')).toMatchObject([{ name: 'second', current: true }]);
    await cli.run('profile', 'remove', 'second');
  });

  it('sends the key of one service to no other', async () => {
    const cli = await withProfile();
    const words = ['profile', 'add', 'main', '--update', '--api-url', 'https://o.example'];
    const [exit, code, message] = await refusal(cli, ...words);
    expect([exit, code]).toEqual([2, 'ERR_CONFIG_INVALID']);
    for (const url of [API, 'https://o.example']) expect(message).toContain(url);
    expect(stored(cli).profiles.main).toEqual({ apiUrl: API });
    expect((await cli.run('profile', 'add', 'main', '--update', '--api-url', `${API}/v2`)).exit).toBe(0);
    expect((await cli.run(...words, '--api-key-stdin')).exit).toBe(0);
  });

  it.each(['', 'two words', 'ключ', 'a\nb'])('refuses the key %j', async (stdin) => {
    const cli = testCli({ stdin });
    expect((await refusal(cli, 'profile', 'add', 'main', '--api-key-stdin'))[1]).toBe('ERR_INPUT_INVALID');
    expect(existsSync(pathOf(cli))).toBe(false);
  });

  it('changes nothing when a file of it is damaged, and names it; keeps what it does not know', async () => {
    const cli = await withProfile();
    const { profiles, ...rest } = stored(cli);
    const later = { ...rest, profiles: { main: { ...profiles.main, later: 1 } }, later: [2] };
    writeFileSync(pathOf(cli), JSON.stringify(later));
    expect((await cli.run('profile', 'add', 'main', '--update', '--keypair', 'k')).exit).toBe(0);
    expect(stored(cli)).toMatchObject({
      later: [2],
      profiles: { main: { later: 1, keypair: join(cli.home, 'k') } },
    });
    const before = readFileSync(pathOf(cli), 'utf8');
    writeFileSync(pathOf(cli, 'api-keys'), '{');
    for (const words of [
      ['add', 'another', '--api-key-stdin'],
      ['remove', 'main'],
    ])
      expect(await refusal(cli, '--local', 'profile', ...words)).toEqual([
        ...[2, 'ERR_CONFIG_INVALID', expect.stringContaining(pathOf(cli, 'api-keys'))],
      ]);
    expect(readFileSync(pathOf(cli), 'utf8')).toBe(before);
    writeFileSync(pathOf(cli), '{"current":');
    expect((await refusal(cli, 'whoami'))[2]).toContain(pathOf(cli));
  });

  it('does not use a key that others can read', async () => {
    const cli = await withProfile();
    chmodSync(pathOf(cli, 'api-keys'), 0o644);
    const { exit, stderr } = await cli.run('whoami');
    expect([exit, complaint(stderr).hint]).toEqual([2, expect.stringContaining('chmod 600')]);
  });

  it('keeps limits, and takes one away with none', async () => {
    const cli = await withProfile();
    const limit = (...words: string[]) => cli.run('profile', 'add', 'main', '--update', ...words);
    await limit('--batch-tokens', '1000.5', '--day-tokens', '5', '--digest-above', '20');
    await limit('--day-tokens', 'none');
    const limits = { batchTokens: '1000.5', digestAbove: '20' };
    expect(await json(cli, 'profile', 'list')).toMatchObject([{ limits }]);
    expect(complaint((await limit('--day-tokens', '1,000')).stderr).error).toBe('ERR_INPUT_INVALID');
    await limit('--keypair', 'k');
    expect((await json(cli, 'profile', 'list'))[0].limits).toEqual(limits);
  });

  it('is in use no more after use --none', async () => {
    const cli = await withProfile();
    expect(await json(cli, 'profile', 'use', '--none')).toEqual({ current: null });
    expect((await json(cli, 'whoami')).apiUrl.value).toBe(null);
    expect((await refusal(cli, 'profile', 'use')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});

describe('profile pin', () => {
  const world = honestWorld();
  const { facts, ...addresses } = HONEST_PINS;
  const FOUND = { ...addresses, facts };
  const bare: Pins = addresses;

  /** A command line with a profile, on the chain of an honest project. */
  async function atChain(options: TestCliOptions = {}, pins: Pins | null = bare): Promise<TestCli> {
    const { home } = await withProfile();
    return testCli({ home, ...options, opened: { chain: chainIn(world), pins, ...options.opened } });
  }
  const kept = (cli: TestCli) => stored(cli).profiles.main.pinned;

  it('keeps every fact after a yes, and shows each before it asks', async () => {
    const cli = await atChain(person('y'));
    const { exit, stderr, questions } = await cli.run('profile', 'pin');
    expect([exit, questions.length]).toEqual([0, 1]);
    for (const text of [...Object.values(facts ?? {}), addresses.multisig, addresses.owner])
      expect(stderr).toContain(text);
    expect(kept(cli)).toEqual(FOUND);
  });

  it('keeps nothing after a no, nor where nobody can be asked', async () => {
    for (const [options, exit] of [
      [person('n'), 130],
      [{}, 2],
    ] as const) {
      const cli = await atChain(options);
      const ended = await cli.run('profile', 'pin', '--out', 'pins.json');
      expect([ended.exit, ended.stdout]).toEqual([exit, '']);
      expect([kept(cli), existsSync(join(cli.home, 'pins.json'))]).toEqual([undefined, false]);
    }
  });

  it('asks nothing with --yes, prints JSON, writes the file for --pins, and names what has changed', async () => {
    const cli = await atChain({}, { ...addresses, facts: { ...facts, threshold: '1' } });
    const { exit, stdout, stderr } = await cli.run('profile', 'pin', 'main', '--yes', '--out', 'pins.json');
    expect([exit, JSON.parse(stdout)]).toEqual([0, FOUND]);
    expect(JSON.parse(stderr).notice).toMatch(/threshold.* 1 .* 2/);
    expect(JSON.parse(readFileSync(join(cli.home, 'pins.json'), 'utf8'))).toEqual(FOUND);
    expect(kept(cli)).toEqual(FOUND);
  });

  it('says that nothing was kept where there is no profile and no file', async () => {
    const cli = testCli({ opened: { chain: chainIn(world), pins: bare } });
    const { exit, stderr } = await cli.run('profile', 'pin', '--yes');
    expect([exit, JSON.parse(stderr)]).toEqual([0, { warning: expect.stringContaining('--out') }]);
    expect((await cli.run('profile', 'pin', '--yes', '--out', 'pins.json')).stderr).toBe('');
  });

  it.each([[{ chain: null }], [{ pins: null }]])('is refused with %j', async (opened) => {
    const answer = await refusal(await atChain({ opened }), 'profile', 'pin', '--yes');
    expect(answer.slice(0, 2)).toEqual([9, 'ERR_APPROVAL_REFUSED']);
  });

  it('pins for no profile but the one in use', async () => {
    expect((await refusal(await atChain(), 'profile', 'pin', 'other', '--yes'))[1]).toBe('ERR_USAGE');
  });
});
