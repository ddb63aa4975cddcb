/** `flywheel local status`: the flywheel of a data directory and its balances. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalStatusResult } from '../../../../../src/cli/context.js';
import { localWith, READER, refusal, refuse } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const STATUS: LocalStatusResult = {
  tokenId: 'token-1',
  mintAddress: namedAddress('mint'),
  decimals: 6,
  tokenProgram: 'token',
  flywheelId: 'flywheel-1',
  multisig: namedAddress('multisig'),
  vaultIndex: 0,
  vaultAddress: namedAddress('vault'),
  burnWallet: namedAddress('burn wallet'),
  owner: { address: namedAddress('owner'), keypair: '/keys/owner.json' },
  operator: namedAddress('operator'),
  proofTypes: ['PRODUCT_BUY', 'WATCH_AD'],
  dailyLimits: { burn: '5000', airdrop: null },
  supply: '999990',
  burned: '10',
  balances: {
    vault: { tokens: '100', lamports: '1' },
    burnWallet: { tokens: '90.5', lamports: '2500000000' },
    owner: { lamports: '0' },
    operator: { lamports: '3000000000' },
  },
  usedToday: { burn: '10', airdrop: '0' },
};

describe('local status', () => {
  it('prints all that there is, of the data directory that was named', async () => {
    const openers = localWith({ status: async () => STATUS });
    const cli = testCli({ openers });
    const { exit, stdout, stderr } = await cli.run('local', 'status', '--data-dir', 'd');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(STATUS)}\n`, '']);
    expect(openers.opened).toEqual([join(cli.home, 'd'), 'closed']);
  });

  it('tells people caps, use and balances', async () => {
    const openers = localWith({ status: async () => STATUS });
    const { stdout } = await testCli({ ...READER, openers }).run('local', 'status');
    const lines = stdout.split('\n').map((line) => line.replace(/ +/g, ' '));
    expect(lines).toEqual(
      expect.arrayContaining([
        `mint ${STATUS.mintAddress} (token, 6 decimals)`,
        'daily burn 5,000 tokens, 10 tokens used',
        'daily airdrop no cap, 0 tokens used',
        'vault 100 0.000000001',
        'burn wallet 90.5 2.5',
        'operator 3',
      ]),
    );
  });

  it('leaves out the balance of an operator that there is none of', async () => {
    const { operator: _operator, ...balances } = STATUS.balances;
    const openers = localWith({ status: async () => ({ ...STATUS, balances }) });
    const { stdout } = await testCli({ ...READER, openers }).run('local', 'status');
    expect(stdout).not.toContain('3 SOL');
  });

  it('says so where nothing was set up, and takes no argument', async () => {
    const none = localWith({
      status: async () => refuse('ERR_LOCAL_NOT_FOUND', 'There is no flywheel in d.'),
    });
    expect(await refusal(testCli({ openers: none }), 'local', 'status')).toEqual([
      2,
      'ERR_LOCAL_NOT_FOUND',
      'There is no flywheel in d.',
    ]);
    expect((await refusal(testCli(), 'local', 'status', 'd'))[1]).toBe('ERR_USAGE');
  });
});
