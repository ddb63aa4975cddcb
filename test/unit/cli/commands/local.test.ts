/** `flywheel local` and `vault`: what is asked of the flywheel of a data directory, what is printed, and what needs a yes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { LocalAdmin, LocalRpcTerms, RunningRpc } from '../../../../src/cli/context.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { complaint, localWith, person, READER, refusal, refuse } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { MADE, STATUS, VAULT } from '../fixtures.js';

type Asked<Name extends keyof LocalAdmin> = LocalAdmin[Name] extends (input: infer Input) => unknown
  ? Input
  : never;

/** A command line whose flywheel answers one question so, and what it was asked. */
function cliWith<Name extends 'init' | 'fund'>(name: Name, answer: unknown, options: TestCliOptions = {}) {
  const asked: Asked<Name>[] = [];
  const openers = localWith({
    [name]: async (input: Asked<Name>) => {
      asked.push(input);
      return answer;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('local init', () => {
  it('registers without a question with what is usual, and prints what was made with the key', async () => {
    const { cli, asked } = cliWith('init', MADE);
    const { exit, stdout, stderr } = await cli.run('local', 'init');
    expect([exit, JSON.parse(stdout), stderr]).toEqual([0, MADE, '']);
    expect(asked).toEqual([
      {
        ...{ name: 'Flywheel', symbol: 'FLY', decimals: 6, supply: '1000000000' },
        ...{ tokenProgram: 'token', tokenGeneration: 'v1', vaultTokens: '1000000', vaultSol: '10' },
        ...{ burnWalletTokens: '1000000', burnWalletSol: '10', proofTypes: ['PRODUCT_BUY', 'WATCH_AD'] },
        ...{
          scopes: ['burn', 'airdrop'],
          dailyBurn: null,
          dailyAirdrop: null,
          owner: null,
          squadsProgram: null,
        },
      },
    ]);
    expect((await cliWith('init', MADE, READER).cli.run('local', 'init')).stdout).not.toContain(
      'fk_made_here',
    );
  });

  it('takes every part from its option; of an owner only the address and where the keypair lies', async () => {
    const { cli, asked } = cliWith('init', MADE);
    const keypair = generateKeypair();
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...keypair]), { mode: 0o600 });
    writeFileSync(join(cli.home, 'squads.so'), 'program');
    const { exit } = await cli.run(
      ...['local', 'init', '--name', 'My Token', '--symbol', 'MY', '--decimals', '9', '--supply', '5000.5'],
      ...[
        '--token-program',
        'token-2022',
        '--token-generation',
        'v2',
        '--vault-tokens',
        '1',
        '--vault-sol',
        '2',
      ],
      ...['--burn-wallet-tokens', '0', '--burn-wallet-sol', '4', '--proof-type', 'A', '--proof-type', 'B'],
      ...['--proof-type', 'A', '--scope', 'airdrop', '--daily-burn', '7', '--daily-airdrop', '8.5'],
      ...['--min-operator-sol', '0.25', '--max-batch-rent', '0'],
      ...['--owner-keypair', 'owner.json', '--squads-program', 'squads.so'],
    );
    expect(exit).toBe(0);
    expect(asked).toEqual([
      {
        ...{ name: 'My Token', symbol: 'MY', decimals: 9, supply: '5000.5' },
        ...{ tokenProgram: 'token-2022', tokenGeneration: 'v2', vaultTokens: '1', vaultSol: '2' },
        ...{ burnWalletTokens: '0', burnWalletSol: '4', proofTypes: ['A', 'B'], scopes: ['airdrop'] },
        ...{ dailyBurn: '7', dailyAirdrop: '8.5', minOperatorSol: 250_000_000n, maxBatchRent: 0n },
        owner: { address: addressFromBytes(keypair.slice(32)), keypair: join(cli.home, 'owner.json') },
        squadsProgram: join(cli.home, 'squads.so'),
      },
    ]);
  });
});

describe('local fund', () => {
  const FUNDED = {
    address: namedAddress('vault'),
    tokens: '1005000',
    lamports: '1500000000',
    txHash: 'sig-1',
  };

  it.each([
    [['--tokens', '5000'], { to: 'vault', tokens: '5000' }],
    [
      ['--to', 'burn-wallet', '--tokens', '1.5', '--sol', '0.1'],
      { to: 'burn-wallet', tokens: '1.5', sol: '0.1' },
    ],
    [['--to', namedAddress('alice'), '--sol', '2'], { to: namedAddress('alice'), sol: '2' }],
  ])('takes %j, and prints what is there now', async (words, input) => {
    const { cli, asked } = cliWith('fund', FUNDED);
    const { exit, stdout, stderr } = await cli.run('local', 'fund', ...words);
    expect([exit, JSON.parse(stdout), stderr, asked]).toEqual([0, FUNDED, '', [input]]);
  });
});

describe('local reset', () => {
  function wiping(options: TestCliOptions = {}) {
    const wiped: string[] = [];
    const openers = localWith({ reset: async () => void wiped.push(openers.opened.at(-1) ?? '') });
    return { cli: testCli({ ...options, openers }), wiped };
  }

  it('wipes the directory after a yes', async () => {
    const { cli, wiped } = wiping(person('y'));
    const dataDir = join(cli.home, '.local/share/flywheel');
    const { exit, questions } = await cli.run('local', 'reset');
    expect([exit, questions, wiped]).toEqual([0, [expect.stringContaining(dataDir)], [dataDir]]);
    const script = wiping();
    const other = join(script.cli.home, 'other');
    const { stdout } = await script.cli.run('local', 'reset', '--yes', '--data-dir', 'other');
    expect([JSON.parse(stdout), script.wiped]).toEqual([{ dataDir: other, reset: true }, [other]]);
  });

  it.each(['n', '', 'yes please'])('wipes nothing after %j', async (answer) => {
    const { cli, wiped } = wiping(person(answer));
    const { exit, stdout } = await cli.run('local', 'reset');
    expect([exit, stdout, wiped]).toEqual([130, '', []]);
  });

  it('wipes nothing where nobody can be asked', async () => {
    for (const { cli, wiped } of [wiping(), wiping(person('y'))]) {
      const { exit, stderr } = await cli.run('local', 'reset', '--no-input');
      expect([exit, stderr, wiped]).toEqual([2, expect.stringContaining('--yes'), []]);
    }
  });
});

describe('local rpc', () => {
  const ADDRESSES = { url: 'http://127.0.0.1:8899', webSocketUrl: 'ws://127.0.0.1:8900' };
  /** A node that is asked to stop as soon as it listens, unless it fails first. */
  function listening(failure?: FlywheelError) {
    const started: LocalRpcTerms[] = [];
    const closed: string[] = [];
    const stop = new AbortController();
    const failed: RunningRpc['failed'] = failure ? Promise.resolve(failure) : new Promise(() => undefined);
    const startLocalRpc: NonNullable<TestCliOptions['openers']>['startLocalRpc'] = async (
      _settings,
      terms,
    ) => {
      started.push(terms);
      if (failure === undefined) queueMicrotask(() => stop.abort());
      return { ...ADDRESSES, failed, close: async () => void closed.push(ADDRESSES.url) };
    };
    return { cli: testCli({ openers: { startLocalRpc }, signal: stop.signal }), started, closed };
  }

  it('says where it listens, who else reaches it, and closes when it is asked to stop', async () => {
    const { cli, started, closed } = listening();
    const { exit, stdout, stderr } = await cli.run('local', 'rpc');
    expect([exit, JSON.parse(stdout), stderr, closed]).toEqual([0, ADDRESSES, '', [ADDRESSES.url]]);
    expect(started).toMatchObject([{ host: '127.0.0.1', port: 8_899, slotMs: 400, onDemand: false }]);
    const open = await listening().cli.run('local', 'rpc', '--host', '0.0.0.0');
    expect(JSON.parse(open.stderr).warning).toContain('0.0.0.0');
  });

  it('ends with why it cannot go on, once it is closed', async () => {
    const { cli, closed } = listening(new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.'));
    const { exit, stderr } = await cli.run('local', 'rpc');
    expect([exit, complaint(stderr).message, closed]).toEqual([6, 'The disk is full.', [ADDRESSES.url]]);
  });
});

describe('a flywheel of a data directory', () => {
  const exported = (keypair: string) => ({ address: namedAddress('owner'), keypair });
  const openers = () =>
    localWith({
      status: async () => STATUS,
      vault: async () => VAULT,
      exportOwner: async (keypair) => exported(keypair),
      fetchSquads: async () => ({
        program: namedAddress('squads'),
        sha256: 'dec8',
        file: '/d',
        fetched: true,
      }),
    });

  it('is printed as it is, and closed', async () => {
    const given = openers();
    const cli = testCli({ openers: given });
    const json = async (...words: string[]) =>
      JSON.parse((await cli.run(...words, '--data-dir', 'd')).stdout);
    expect(await json('local', 'status')).toEqual(STATUS);
    expect(await json('vault')).toEqual(VAULT);
    expect(await json('local', 'export-owner', 'o.json')).toEqual(exported(join(cli.home, 'o.json')));
    expect(await json('local', 'fetch-squads')).toMatchObject({ sha256: 'dec8', fetched: true });
    expect(new Set(given.opened)).toEqual(new Set([join(cli.home, 'd'), 'closed']));
  });

  it('links to the explorer of its cluster, on a terminal only', async () => {
    const link = `https://explorer.solana.com/address/${VAULT.vaultAddress}`;
    const vault = (name: string | null, options: TestCliOptions) =>
      testCli({
        ...options,
        openers: localWith({ vault: async () => ({ ...VAULT, cluster: { name, genesisHash: 'g' } }) }),
      }).run('vault', '--output', 'human');
    expect((await vault('mainnet-beta', person())).stdout).toContain(`${link}\n`);
    expect((await vault('devnet', person())).stdout).toContain(`${link}?cluster=devnet\n`);
    for (const [name, options] of [
      ['devnet', {}],
      [null, person()],
    ] as const)
      expect((await vault(name, options)).stdout).not.toContain('explorer.solana.com');
  });

  it('ends as the flywheel says where it cannot, and says nothing of what it has not done', async () => {
    const none = async () => refuse('ERR_STORE_UNAVAILABLE', 'A process uses it.');
    const given = localWith({ init: none, status: none, fund: none, reset: none });
    for (const words of [['init'], ['status'], ['fund', '--sol', '1'], ['reset', '--yes']])
      expect(await refusal(testCli({ openers: given }), 'local', ...words)).toEqual([
        ...[6, 'ERR_STORE_UNAVAILABLE', 'A process uses it.'],
      ]);
    expect(given.opened.at(-1)).toBe('closed');
  });
});
