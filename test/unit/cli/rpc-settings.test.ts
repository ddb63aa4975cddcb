/** Which RPC nodes are used, and how they are stored and shown. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requireQuorum } from '../../../src/cli/config/resolve-rpc.js';
import { testCli } from '../../support/in-process.js';
import { emptyDirectory } from '../../support/spawn.js';

const API = 'https://api.example.com';

function withSolanaConfig(text: string): string {
  const home = emptyDirectory();
  mkdirSync(join(home, '.config/solana/cli'), { recursive: true });
  writeFileSync(join(home, '.config/solana/cli/config.yml'), text);
  return home;
}

async function settings(cli: ReturnType<typeof testCli>, ...words: string[]) {
  const { stdout, stderr, exit } = await cli.run('whoami', ...words);
  return exit === 0 ? JSON.parse(stdout) : JSON.parse(stderr);
}

const stored = (home: string) =>
  JSON.parse(readFileSync(join(home, '.config/flywheel/profiles.json'), 'utf8')).profiles;

describe('the RPC nodes', () => {
  it('are those of the flag, else the environment, else the profile, else the Solana CLI', async () => {
    const home = withSolanaConfig(
      "---\njson_rpc_url: 'https://solana.example.com' # mine\nkeypair_path: x\n",
    );
    expect((await settings(testCli({ home }))).rpcUrl).toEqual({
      value: 'https://solana.example.com',
      source: 'solana config',
    });
    await testCli({ home }).run('profile', 'add', 'p', '--rpc-url', 'https://profile.example.com');
    expect((await settings(testCli({ home }))).rpcUrl).toEqual({
      value: 'https://profile.example.com',
      source: 'profile',
    });
    const env = { FLYWHEEL_RPC_URL: 'devnet, https://b.example.com\n testnet', FLYWHEEL_RPC_QUORUM: '2' };
    expect(await settings(testCli({ home, env }))).toMatchObject({
      rpcUrl: {
        value: 'https://api.devnet.solana.com, https://b.example.com, https://api.testnet.solana.com',
        source: 'environment',
      },
      rpcQuorum: { value: 2, source: 'environment' },
    });
    const flags = ['--rpc-url', 'mainnet', '--rpc-url', 'localhost', '--quorum', '1'];
    expect(await settings(testCli({ home, env }), ...flags)).toMatchObject({
      rpcUrl: { value: 'https://api.mainnet-beta.solana.com, http://localhost:8899', source: 'flag' },
      rpcQuorum: { value: 1, source: 'flag' },
    });
  });

  it.each([
    ['json_rpc_url: d', 'https://api.devnet.solana.com'],
    ['json_rpc_url: "mainnet-beta"', 'https://api.mainnet-beta.solana.com'],
    ['json_rpc_url:   http://localhost:8899   ', 'http://localhost:8899'],
    ['json_rpc_url: ""\nwebsocket_url: x', null],
    ['websocket_url: https://json_rpc_url: x', null],
  ])('of the Solana CLI are read from %j', async (text, value) => {
    expect((await settings(testCli({ home: withSolanaConfig(text) }))).rpcUrl.value).toBe(value);
  });

  it('of the Solana CLI that are none are refused where a chain would be read through them', async () => {
    const home = withSolanaConfig('json_rpc_url: sekret-nonsense');
    const unused = await settings(testCli({ home }));
    expect([unused.rpcUrl.value, unused.rpcQuorum.value]).toEqual([null, 1]);
    const refused = await settings(testCli({ home }), '--api-url', API);
    expect(refused.error).toBe('ERR_CONFIG_INVALID');
    expect(refused.message).toMatch(
      /^json_rpc_url in ~\/\.config\/solana\/cli\/config\.yml is not the address/,
    );
    expect(JSON.stringify(refused)).not.toContain('sekret');
  });

  it('are sixteen at most', async () => {
    const words = (count: number) =>
      Array.from({ length: count }, (_, at) => ['--rpc-url', `https://${at}.example.com`]).flat();
    expect((await settings(testCli(), ...words(16))).rpcUrl).toMatchObject({ source: 'flag' });
    expect(await settings(testCli(), ...words(17))).toMatchObject({
      error: 'ERR_CONFIG_INVALID',
      message: 'At most 16 RPC nodes can be given.',
    });
  });

  it('need not be there where one is enough', () => {
    expect(() => requireQuorum([], { value: 1, source: 'default' })).not.toThrow();
    expect(() => requireQuorum([], { value: 2, source: 'flag' })).toThrow('none is given');
  });

  it('are shown without their keys', async () => {
    const key = 'https://rpc.example.com/v2/KEY123456';
    const cli = testCli();
    const added = await cli.run(
      'profile',
      'add',
      'p',
      '--rpc-url',
      key,
      '--rpc-url',
      'devnet',
      '--quorum',
      '2',
    );
    expect(stored(cli.home)['p']).toEqual({ rpcUrl: [key, 'devnet'], rpcQuorum: 2 });
    const shown = { rpcUrl: ['https://rpc.example.com/***', 'devnet'], rpcQuorum: 2 };
    expect(JSON.parse(added.stdout)).toMatchObject(shown);
    const human = testCli({ home: cli.home, tty: { stdout: true } });
    for (const words of [['profile', 'show'], ['profile', 'list'], ['whoami']])
      for (const each of [cli, human]) expect((await each.run(...words)).stdout).not.toContain('KEY');
    expect((await human.run('profile', 'show')).stdout).toContain('https://rpc.example.com/***, devnet');
    expect(JSON.parse((await cli.run('profile', 'list')).stdout)).toMatchObject([shown]);
  });

  it('are shown with where they come from by `profile show` where the profile names none', async () => {
    const home = withSolanaConfig('json_rpc_url: https://solana.example.com');
    await testCli({ home }).run('profile', 'add', 'p', '--api-url', API);
    expect(JSON.parse((await testCli({ home }).run('profile', 'show')).stdout)).toMatchObject({
      rpcUrl: 'https://solana.example.com',
      rpcSource: 'solana config',
    });
    expect((await testCli({ home, tty: { stdout: true } }).run('profile', 'show')).stdout).toContain(
      'https://solana.example.com (solana config)',
    );
  });

  it('of a profile from before may be one text', async () => {
    const home = emptyDirectory();
    mkdirSync(join(home, '.config/flywheel'), { recursive: true });
    const write = (profile: object): void =>
      writeFileSync(
        join(home, '.config/flywheel/profiles.json'),
        JSON.stringify({ current: 'p', profiles: { p: profile } }),
      );
    write({ rpcUrl: 'https://old.example.com' });
    expect((await settings(testCli({ home }))).rpcUrl).toMatchObject({ value: 'https://old.example.com' });
    write({ apiUrl: API, rpcUrl: 'devnett' });
    expect(await settings(testCli({ home }))).toMatchObject({ error: 'ERR_CONFIG_INVALID' });
    // What is wrong can be put right, and is no concern of what needs no node.
    expect((await testCli({ home }).run('whoami', '--local')).exit).toBe(0);
    expect((await testCli({ home }).run('profile', 'add', 'p', '--rpc-url', 'devnet')).exit).toBe(0);
    write({ rpcUrl: [1] });
    expect(await settings(testCli({ home }))).toMatchObject({ error: 'ERR_CONFIG_INVALID' });
  });

  it.each([
    [['--rpc-url', 'devnett'], 'ERR_CONFIG_INVALID'],
    [['--rpc-url', 'wss://rpc.example.com'], 'ERR_CONFIG_INVALID'],
    [['--rpc-url', ''], 'ERR_CONFIG_INVALID'],
    [['--rpc-url', 'devnet', '--quorum', '2'], 'ERR_USAGE'],
    [['--rpc-url', 'mainnet', '--rpc-url', 'mainnet-beta', '--quorum', '2'], 'ERR_USAGE'],
    [['--quorum', '2'], 'ERR_USAGE'],
    [['--quorum', '0'], 'ERR_USAGE'],
    [['--quorum', 'all'], 'ERR_USAGE'],
  ])('are not stored when they would fail later: %j', async (words, code) => {
    const cli = testCli();
    const { exit, stderr } = await cli.run('profile', 'add', 'p', ...words);
    expect([exit, JSON.parse(stderr).error]).toEqual([2, code]);
    expect(JSON.parse((await cli.run('profile', 'list')).stdout)).toEqual([]);
  });
});
