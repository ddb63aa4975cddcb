/** `flywheel local` and `vault`: calls to the admin of a data directory, and the output. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../src/chain/transaction/sign.js';
import type { LocalAdmin } from '../../../../src/cli/context.js';
import { addressFromBytes } from '../../../../src/values/address.js';
import { localWith, READER } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';
import { MADE, STATUS, VAULT } from '../fixtures.js';

type Asked<Name extends keyof LocalAdmin> = LocalAdmin[Name] extends (input: infer Input) => unknown
  ? Input
  : never;

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
        ...{ scopes: ['burn', 'airdrop'], dailyBurn: null, dailyAirdrop: null },
        ...{ owner: null, squadsProgram: null },
      },
    ]);
    const shown = await cliWith('init', MADE, READER).cli.run('local', 'init');
    expect(shown.stdout).not.toContain('fk_made_here');
  });

  it('takes every part from its option; of an owner only the address and where the keypair lies', async () => {
    const { cli, asked } = cliWith('init', MADE);
    const keypair = generateKeypair();
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...keypair]), { mode: 0o600 });
    writeFileSync(join(cli.home, 'squads.so'), 'program');
    const { exit } = await cli.run(
      ...['local', 'init', '--name', 'My Token', '--symbol', 'MY', '--decimals', '9', '--supply', '5000.5'],
      ...['--token-program', 'token-2022', '--token-generation', 'v2'],
      ...['--vault-tokens', '1', '--vault-sol', '2'],
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
  const at = { address: namedAddress('vault'), txHash: 'sig-1' };
  const FUNDED = { ...at, tokens: '1005000', lamports: '1500000000' };

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
});
