/** `flywheel db accept-gap`: what is shown, and what has to be said before anything is accepted. */
import { describe, expect, it } from 'vitest';
import type { GapReport } from '../../../../../src/cli/context.js';
import { localWith, READER, refusal } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const GAP: GapReport = {
  ...{ project: 'fly', symbol: 'FLY', burns: 22, transactions: 22, burned: '22', airdropped: '0' },
  ...{ pendingBurns: 1, dateFound: '2026-01-31T12:00:00.000Z' },
  lost: Array.from({ length: 22 }, (_, index) => ({
    ...{ txHash: `signature${index}`, burned: '1', airdropped: '0', memo: null },
    date: index === 0 ? null : '2026-01-31T11:00:00.000Z',
  })),
};

function cliWith(gap: GapReport | null, options: TestCliOptions = {}) {
  const accepted: number[] = [];
  const openers = localWith({
    gap: async () => gap,
    acceptGap: async (transactions) => void accepted.push(transactions),
  });
  return { cli: testCli({ ...options, openers }), accepted };
}

describe('db accept-gap', () => {
  it('accepts what was expected', async () => {
    const { cli, accepted } = cliWith(GAP);
    const { exit, stdout } = await cli.run('db', 'accept-gap', '--yes', '--expect', '22');
    expect([exit, JSON.parse(stdout), accepted]).toEqual([0, { accepted: true, gap: GAP }, [22]]);
  });

  it.each([
    [['--yes'], 'ERR_USAGE'],
    [['--yes', '--expect', '21'], 'ERR_INPUT_INVALID'],
    [['--yes', '--expect', 'all'], 'ERR_INPUT_INVALID'],
    [['--expect', '22'], 'ERR_USAGE'],
  ])('accepts nothing with %j where nobody can be asked', async (words, code) => {
    const { cli, accepted } = cliWith(GAP);
    const { exit, stderr } = await cli.run('db', 'accept-gap', ...words);
    expect([exit, stderr, accepted]).toEqual([2, expect.stringContaining(code), []]);
  });

  it('shows what is missing before it asks', async () => {
    const { cli, accepted } = cliWith(GAP, READER);
    const { stderr } = await cli.run('db', 'accept-gap');
    for (const part of [
      '22 burns of fly',
      '22 FLY burned',
      'at an unknown time  signature0',
      'and 2 more',
      '1 burn that',
    ])
      expect(stderr).toContain(part);
    expect(accepted).toEqual([]);
  });

  it('says where nothing is missing', async () => {
    const { cli } = cliWith(null);
    const { exit, stdout } = await cli.run('db', 'accept-gap');
    expect([exit, JSON.parse(stdout)]).toEqual([0, { accepted: false, gap: null }]);
    const human = await cliWith(null, READER).cli.run('db', 'accept-gap');
    expect(human.stdout).toContain('The store knows all that the chain does.');
    expect((await refusal(cliWith(GAP).cli, 'db', 'accept-gap', '--yes'))[1]).toBe('ERR_USAGE');
  });
});
