/** Settings: flag over environment over profile over default, each with its source, and no secret shown. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../src/chain/transaction/sign.js';
import { resolveSettings } from '../../../src/cli/config/resolve.js';
import { fakeService } from '../../support/fake-service.js';
import { type TestCli, testCli } from '../../support/in-process.js';
import { namedAddress } from '../../support/oracle.js';
import { emptyDirectory } from '../../support/spawn.js';
import { EXAMPLES } from '../../support/wire-examples.js';
import { refusal, refuse } from './single-command.js';

const API = 'https://api.example.com/base';

async function withProfile(env: Record<string, string> = {}): Promise<TestCli> {
  const { home, run } = testCli({ stdin: 'fk_profile_key\n' });
  await run('profile', 'add', 'staging', '--api-url', `${API}/`, '--api-key-stdin');
  return testCli({ home, env });
}

async function row(cli: TestCli, ...words: string[]) {
  const { exit, stdout, stderr } = await cli.run('whoami', ...words);
  return JSON.parse(exit === 0 ? stdout : stderr);
}

describe('the service', () => {
  it('is that of flag, environment, profile, or the embedded engine', async () => {
    const cli = await withProfile();
    const rows = await row(cli);
    expect(rows).toMatchObject({
      target: { value: 'remote', source: 'profile' },
      apiKey: { value: 'set', source: 'profile' },
      maxWaitSeconds: { value: 60, source: 'default' },
      limits: [],
    });
    expect(JSON.stringify(rows)).not.toContain('fk_profile_key');
    const env = { FLYWHEEL_API_URL: 'https://env.example', FLYWHEEL_API_KEY: 'fk_env' };
    const changed = testCli({ home: cli.home, env });
    expect((await row(changed)).apiKey).toMatchObject({ value: 'set', source: 'environment' });
    expect(await row(changed, '--local')).toMatchObject({ target: { value: 'embedded', source: 'flag' } });
  });

  it('gets the key of a profile at its own address only, whoever names that', async () => {
    const cli = await withProfile();
    expect((await row(cli, '--api-url', 'https://other.example')).apiKey.value).toBe(null);
    expect((await row(cli, '--local')).apiKey.value).toBe(null);
    expect(await row(cli, '--api-url', API)).toMatchObject({
      apiUrl: { source: 'flag' },
      apiKey: { value: 'set', source: 'profile' },
    });
  });

  it('is not used where a data directory is named, unless it is named itself', async () => {
    const cli = await withProfile({ FLYWHEEL_API_URL: API });
    const target = async (...words: string[]) => (await row(cli, ...words)).target.value;
    expect(await target()).toBe('remote');
    expect(await target('--data-dir', 'd2')).toBe('embedded');
    expect(await target('--data-dir', 'd2', '-p', 'staging')).toBe('remote');
    expect(await target('--data-dir', 'd2', '--api-url', API)).toBe('remote');
  });

  it.each([
    ...['ftp://a.example', 'https://user:secret@a.example', 'https://user@a.example', 'not a url'],
    ...['https://:secret@a.example', 'https://a.example/?key=secret', 'https://a.example/#secret'],
  ])('is not at %s', async (url) => {
    const [exit, code, message] = await refusal(testCli(), 'whoami', '--api-url', url);
    expect([exit, code]).toEqual([2, 'ERR_CONFIG_INVALID']);
    expect(message).not.toContain('secret');
  });

  it('says which key it is only when that is to be asked, and nothing else where it refuses the key', async () => {
    const service = fakeService();
    const openers = { dataChain: async () => ({ kind: 'ledger', name: null, genesisHash: 'hash' }) as const };
    expect(await row(testCli({ openers, service }))).not.toHaveProperty('key');
    expect(service.calls).toEqual([]);
    expect(await row(testCli({ openers, service }), '--check')).toMatchObject({
      ...{ chain: { genesisHash: 'hash' }, key: EXAMPLES.describeKey.response },
    });
    service.answer('describeKey', () => refuse('ERR_NOT_FOUND', 'There is nothing here.'));
    expect((await row(testCli({ service }), '--check')).key).toBeNull();
    service.answer('describeKey', () => refuse('ERR_UNAUTHORIZED', 'No such key.'));
    expect((await row(testCli({ service }), '--check')).error).toBe('ERR_UNAUTHORIZED');
  });
});

describe('the owner', () => {
  it('is that of the keypair that a command would take, which is never shown itself', async () => {
    const key = '5'.repeat(88);
    const { stdout } = await testCli({ env: { FLYWHEEL_KEYPAIR: key } }).run('whoami');
    expect(stdout).not.toContain(key);
    const home = emptyDirectory();
    const keypair = generateKeypair();
    const file = join(home, 'id.json');
    writeFileSync(file, JSON.stringify([...keypair]), { mode: 0o600 });
    const cli = testCli({ home, env: { FLYWHEEL_KEYPAIR: file } });
    const source = 'environment';
    expect(await row(cli)).toMatchObject({
      keypair: { value: file, source },
      owner: { value: createKeypairSigner(keypair).address, source },
    });
    chmodSync(file, 0o644);
    expect((await row(cli)).owner).toEqual({ value: null, source, problem: expect.stringContaining(file) });
  });

  it('is pinned with the flywheel of the data directory, or that cannot be told', async () => {
    const [multisig, owner, operator] = ['multisig', 'owner', 'operator'].map((name) => namedAddress(name));
    const pins = { multisig, owner, operator, vaultIndex: 0, mint: namedAddress('mint') } as never;
    const source = 'data directory';
    expect(await row(testCli({ openers: { dataPins: async () => pins } }))).toMatchObject({
      multisig: { value: multisig, source },
      pinnedOwner: { value: owner, source },
    });
    const openers = { dataPins: async () => refuse('ERR_STORE_UNAVAILABLE', 'The store is damaged.') };
    expect((await row(testCli({ openers }))).multisig).toMatchObject({ value: null, source, problem: /./ });
  });
});

it('connections to a database are four to a thousand', async () => {
  const at = (pool: string) => {
    const env = { FLYWHEEL_DATABASE_URL: 'postgres://db.internal/flywheel', FLYWHEEL_DATABASE_POOL: pool };
    return testCli({ env });
  };
  expect((await row(at('6'))).databasePool).toEqual({ value: 6, source: 'environment' });
  for (const wrong of ['3', '1001', '4.5', 'many'])
    expect((await at(wrong).run('whoami')).stderr).toContain('FLYWHEEL_DATABASE_POOL');
});

describe('a setting', () => {
  const NODES = 'https://api.devnet.solana.com, https://b.example.com, https://api.testnet.solana.com';
  const HTTPS = 'https://env.example';
  const LOOPBACK = 'http://127.0.0.1:1';
  const MAINNET = 'https://api.mainnet-beta.solana.com';
  const typed = 'devnet, https://b.example.com\n testnet';
  /** What is typed and what it means, in the flag, the variable and the profile; and what is usual. */
  type Given = readonly [typed: string, value: unknown];
  const SETTINGS: readonly (readonly [string, string, Given, Given, Given, unknown])[] = [
    ['apiUrl', 'api-url', [LOOPBACK, LOOPBACK], [HTTPS, HTTPS], [`${API}/`, API], null],
    ['rpcUrl', 'rpc-url', ['mainnet', MAINNET], [typed, NODES], ['localhost', 'http://localhost:8899'], null],
    ['rpcQuorum', 'quorum', ['1', 1], ['2', 2], ['1', 1], 1],
    ['maxPriorityFee', 'max-priority-fee', ['7', 7], ['10000000', 10_000_000], ['0', 0], 50_000],
    [
      'commitment',
      'commitment',
      ['finalized', 'finalized'],
      ['confirmed', 'confirmed'],
      ['finalized', 'finalized'],
      'confirmed',
    ],
  ];

  it.each(SETTINGS)(
    '%s is that of the flag, else the environment, else the profile, else as usual',
    async (name, option, flag, variable, own, usual) => {
      const { home } = testCli();
      const at = async (env = {}, ...words: string[]) => {
        const { value, source } = (await row(testCli({ home, env }), ...words))[name];
        return [value, source];
      };
      expect(await at()).toEqual([usual, 'default']);
      await testCli({ home }).run('profile', 'add', 'p', `--${option}`, own[0]);
      expect(await at()).toEqual([own[1], 'profile']);
      const variableName = `FLYWHEEL_${name.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
      const env = { FLYWHEEL_RPC_URL: 'devnet, testnet', [variableName]: variable[0] };
      expect(await at(env)).toEqual([variable[1], 'environment']);
      expect(await at(env, `--${option}`, flag[0])).toEqual([flag[1], 'flag']);
    },
  );
});

describe('the RPC nodes', () => {
  it('are sixteen at most', async () => {
    const words = (count: number) =>
      Array.from({ length: count }, (_, at) => ['--rpc-url', `https://${at}.example.com`]).flat();
    expect((await row(testCli(), ...words(16))).rpcUrl).toMatchObject({ source: 'flag' });
    expect((await row(testCli(), ...words(17))).error).toBe('ERR_CONFIG_INVALID');
  });

  it('of a profile that are none can be put right, and are no concern of what needs no node', async () => {
    const home = emptyDirectory();
    mkdirSync(join(home, '.config/flywheel'), { recursive: true });
    const profiles = { p: { apiUrl: API, rpcUrl: 'devnett' } };
    writeFileSync(join(home, '.config/flywheel/profiles.json'), JSON.stringify({ current: 'p', profiles }));
    expect((await row(testCli({ home }))).error).toBe('ERR_CONFIG_INVALID');
    expect((await row(testCli({ home }), '--local')).error).toBeUndefined();
    expect((await testCli({ home }).run('profile', 'add', 'p', '--update', '--rpc-url', 'devnet')).exit).toBe(
      0,
    );
    expect((await row(testCli({ home }))).error).toBeUndefined();
  });
});

describe('limits in a file of pins', () => {
  const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];
  const withPins = (limits: unknown): TestCli => {
    const cli = testCli();
    const pins = { multisig: alice, owner: bob, operator: alice, vaultIndex: 0, mint: bob, limits };
    writeFileSync(join(cli.home, 'pins.json'), JSON.stringify(pins));
    return cli;
  };

  it('hold beside those of the profile', async () => {
    const cli = withPins({ batchTokens: '2000' });
    await cli.run('profile', 'add', 'main', '--api-url', API, '--batch-tokens', '1000');
    expect((await row(cli, '--pins', 'pins.json')).limits).toEqual([
      { value: { batchTokens: '1000' }, source: 'profile' },
      { value: { batchTokens: '2000' }, source: 'flag' },
    ]);
    expect((await row(withPins(undefined), '--pins', 'pins.json')).limits).toEqual([]);
  });

  it.each([
    [{ batchToken: '5' }, 'batchToken'],
    [{ batchTokens: 5 }, 'batchTokens'],
    [{ recipients: [alice] }, 'recipients'],
    [[], 'limits'],
  ])('that are not understood are refused: %j', async (limits, names) => {
    const answer = await refusal(withPins(limits), 'whoami', '--pins', 'pins.json');
    expect(answer).toEqual([2, 'ERR_CONFIG_INVALID', expect.stringContaining(names)]);
  });
});

describe('directories', () => {
  it('follow FLYWHEEL_ and XDG variables', () => {
    const { context, home } = testCli();
    const at = (env: Record<string, string>) => {
      const { configDir, dataDir } = resolveSettings({ ...context, env }, {});
      return [configDir.value, dataDir.value];
    };
    expect(at({})).toEqual([join(home, '.config/flywheel'), join(home, '.local/share/flywheel')]);
    expect(at({ XDG_CONFIG_HOME: '/c', XDG_DATA_HOME: '/d' })).toEqual(['/c/flywheel', '/d/flywheel']);
    expect(at({ FLYWHEEL_CONFIG_DIR: 'x', FLYWHEEL_DATA_DIR: '/y' })).toEqual([join(home, 'x'), '/y']);
  });
});

it.each([
  ['schema burns', '--data-dir /elsewhere'],
  ['profile list', '--quorum 2'],
  ['db status', '--timeout 5'],
  ['local reset', '--rpc-url devnet'],
  ['local export-owner owner.json', '--max-priority-fee 1'],
  ['history', '--pins pins.json'],
])('an option that has no effect on `%s` is refused: %s', async (words, option) => {
  const answer = await refusal(await withProfile(), ...`${words} ${option}`.split(' '));
  const [name] = option.split(' ');
  expect(answer).toEqual([2, 'ERR_USAGE', expect.stringMatching(` does not accept ${name}\\.$`)]);
});
