/** `flywheel local fund`: who is given what. */
import { describe, expect, it } from 'vitest';
import type { FundInput, FundResult } from '../../../../../src/contract/admin.js';
import { complaint, localWith, READER, refusal, refuse } from '../../../../support/commands.js';
import { testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const FUNDED: FundResult = {
  address: namedAddress('vault'),
  tokens: '1005000',
  lamports: '1500000000',
  txHash: 'sig-1',
};

/** A command line, and what was asked of its flywheel. */
function cliWith(options = {}) {
  const asked: FundInput[] = [];
  const openers = localWith({
    fund: async (input) => {
      asked.push(input);
      return FUNDED;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('local fund', () => {
  it('gives to the vault unless told otherwise, and prints what is there now', async () => {
    const { cli, asked } = cliWith();
    const { exit, stdout, stderr } = await cli.run('local', 'fund', '--tokens', '5000');
    expect([exit, stdout, stderr]).toEqual([0, `${JSON.stringify(FUNDED)}\n`, '']);
    expect(asked).toEqual([{ to: 'vault', tokens: '5000' }]);
  });

  it.each([
    [
      ['--to', 'burn-wallet', '--tokens', '1.5', '--sol', '0.1'],
      { to: 'burn-wallet', tokens: '1.5', sol: '0.1' },
    ],
    [['--to', 'operator', '--sol', '2'], { to: 'operator', sol: '2' }],
    [['--to', namedAddress('alice'), '--tokens', '1'], { to: namedAddress('alice'), tokens: '1' }],
  ])('takes %j', async (words, input) => {
    const { cli, asked } = cliWith();
    expect((await cli.run('local', 'fund', ...words)).exit).toBe(0);
    expect(asked).toEqual([input]);
  });

  it('tells people the balances in tokens and SOL', async () => {
    const { stdout } = await cliWith(READER).cli.run('local', 'fund', '--tokens', '5000');
    expect(stdout).toBe(
      `Funded ${FUNDED.address}.\ntokens       1,005,000\nSOL          1.5\ntransaction  sig-1\n`,
    );
  });

  it.each([
    [[], 'ERR_USAGE', 'Give --tokens, --sol or both.'],
    [
      ['--to', 'me', '--tokens', '1'],
      'ERR_INPUT_INVALID',
      '--to: expected vault, burn-wallet, owner, operator or a',
    ],
    [['--tokens', '-1'], 'ERR_INPUT_INVALID', '--tokens: expected a decimal number'],
    [['--sol', '1e3'], 'ERR_INPUT_INVALID', '--sol: expected a decimal number'],
    [['--lamports', '1'], 'ERR_USAGE', "Unknown option '--lamports'"],
  ])('refuses %j and gives nothing', async (words, code, message) => {
    const { cli, asked } = cliWith();
    expect(await refusal(cli, 'local', 'fund', ...words)).toEqual([
      2,
      code,
      expect.stringContaining(message),
    ]);
    expect(asked).toEqual([]);
  });

  it('says what the flywheel says where the treasury does not have it', async () => {
    const openers = localWith({ fund: async () => refuse('ERR_INSUFFICIENT_FUNDS', 'The treasury has 5.') });
    const { exit, stderr } = await testCli({ openers }).run('local', 'fund', '--tokens', '6');
    expect([exit, complaint(stderr).message]).toEqual([5, 'The treasury has 5.']);
    expect(openers.opened.at(-1)).toBe('closed');
  });
});
