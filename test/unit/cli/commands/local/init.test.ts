/** `flywheel local init`: what is registered, from options and defaults, and what is printed of it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generateKeypair } from '../../../../../src/chain/transaction/signer.js';
import type { LocalInitInput, LocalInitResult } from '../../../../../src/cli/context.js';
import { addressFromBytes } from '../../../../../src/values/address.js';
import { complaint, localWith, READER, refusal, refuse } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const MADE: LocalInitResult = {
  tokenId: 'token-1',
  mintAddress: namedAddress('mint'),
  decimals: 6,
  tokenProgram: 'token',
  flywheelId: 'flywheel-1',
  multisig: namedAddress('multisig'),
  vaultIndex: 0,
  vaultAddress: namedAddress('vault'),
  burnWallet: namedAddress('burn wallet'),
  owner: { address: namedAddress('owner'), keypair: '/data/owner.json' },
  operator: namedAddress('operator'),
  apiKey: { id: 'key-1', key: 'fk_made_here', scopes: ['burn', 'airdrop'] },
  proofTypes: ['PRODUCT_BUY'],
  dailyLimits: { burn: null, airdrop: null },
};

/** A command line, and what was asked of its flywheel. */
function cliWith(options: TestCliOptions = {}) {
  const asked: LocalInitInput[] = [];
  const openers = localWith({
    init: async (input) => {
      asked.push(input);
      return MADE;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

const DEFAULTS = {
  ...{ name: 'Flywheel', symbol: 'FLY', decimals: 6, supply: '1000000000' },
  ...{ tokenProgram: 'token', tokenGeneration: 'v1' },
  ...{ vaultTokens: '1000000', vaultSol: '10', burnWalletTokens: '1000000', burnWalletSol: '10' },
  ...{ proofTypes: ['PRODUCT_BUY', 'WATCH_AD'], scopes: ['burn', 'airdrop'] },
  ...{ dailyBurn: null, dailyAirdrop: null, owner: null, squadsProgram: null },
};

describe('local init', () => {
  it('registers without a question, and prints what was made with the key', async () => {
    const { cli, asked } = cliWith();
    const { exit, stdout, stderr } = await cli.run('local', 'init');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(MADE)}\n`, '']);
    expect(asked).toEqual([DEFAULTS]);
  });

  it('takes every part from its option', async () => {
    const { cli, asked } = cliWith();
    const words = [
      ...['--name', 'My Token', '--symbol', 'MY', '--decimals', '9', '--supply', '5000.5'],
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
    ];
    expect((await cli.run('local', 'init', ...words)).exit).toBe(0);
    expect(asked).toEqual([
      {
        ...{ name: 'My Token', symbol: 'MY', decimals: 9, supply: '5000.5' },
        ...{ tokenProgram: 'token-2022', tokenGeneration: 'v2', vaultTokens: '1', vaultSol: '2' },
        ...{ burnWalletTokens: '0', burnWalletSol: '4', proofTypes: ['A', 'B'], scopes: ['airdrop'] },
        ...{ dailyBurn: '7', dailyAirdrop: '8.5', minOperatorSol: 250_000_000n, maxBatchRent: 0n },
        ...{ owner: null, squadsProgram: null },
      },
    ]);
  });

  it('keeps of an owner that there is the address and where the keypair lies, and reads the program file', async () => {
    const { cli, asked } = cliWith();
    const keypair = generateKeypair();
    writeFileSync(join(cli.home, 'owner.json'), JSON.stringify([...keypair]), { mode: 0o600 });
    writeFileSync(join(cli.home, 'squads.so'), 'program');
    const files = ['--owner-keypair', 'owner.json', '--squads-program', 'squads.so'];
    expect((await cli.run('local', 'init', ...files)).exit).toBe(0);
    expect(asked[0]).toMatchObject({
      owner: { address: addressFromBytes(keypair.slice(32)), keypair: join(cli.home, 'owner.json') },
      squadsProgram: join(cli.home, 'squads.so'),
    });
  });

  it('tells people where the key is kept, which it does not show, and a command to begin with', async () => {
    const { cli } = cliWith(READER);
    const { stdout } = await cli.run('local', 'init');
    expect(stdout).toMatch(/^The flywheel is set up\.\n/);
    expect(stdout).toContain('Made an API key for the commands on this machine.\n');
    expect(stdout).toMatch(new RegExp(`^kept in +${cli.home}.*\\n +readable by this user only$`, 'm'));
    expect(stdout).not.toContain('fk_made_here');
    expect(stdout).toContain(
      `  flywheel burn --type PRODUCT_BUY --proof '{"orderId":"A-1001"}' --amount 1\n`,
    );
  });

  it.each([
    [['--decimals', '19'], 'ERR_INPUT_INVALID', '--decimals: expected a whole number from 0 to 18'],
    [['--supply', '1,000'], 'ERR_INPUT_INVALID', '--supply: expected a decimal number such as 12.5'],
    [['--min-operator-sol', '0.0000000001'], 'ERR_INPUT_INVALID', '--min-operator-sol: '],
    [['--proof-type', ''], 'ERR_INPUT_INVALID', '--proof-type: a proof type has 1 to 64 characters'],
    [['--token-program', 'nft'], 'ERR_USAGE', 'Allowed choices are token, token-2022.'],
    [['--owner-keypair', 'none.json'], 'ERR_KEYPAIR_INVALID', 'none.json: there is no such file.'],
    [['--squads-program', 'none.so'], 'ERR_INPUT_INVALID', 'none.so: there is no such file.'],
    [['--owner', 'x'], 'ERR_USAGE', "Unknown option '--owner'"],
  ])('refuses %j before anything is made', async (words, code, message) => {
    const { cli, asked } = cliWith();
    expect(await refusal(cli, 'local', 'init', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(asked).toEqual([]);
  });

  it('makes no second flywheel in a directory', async () => {
    const openers = localWith({ init: async () => refuse('ERR_LOCAL_ALREADY_EXISTS', 'There is one.') });
    const { exit, stdout, stderr } = await testCli({ openers }).run('local', 'init');
    expect([exit, stdout, complaint(stderr).error]).toEqual([2, '', 'ERR_LOCAL_ALREADY_EXISTS']);
  });
});
