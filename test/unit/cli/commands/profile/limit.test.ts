/** Limits of approvals as they are set, shown and read from files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestCli, testCli } from '../../../../support/in-process.js';
import { namedAddress } from '../../../../support/oracle.js';

const [alice, bob] = [namedAddress('alice'), namedAddress('bob')];

async function withProfile(): Promise<TestCli> {
  const cli = testCli();
  await cli.run('profile', 'add', 'main', '--api-url', 'https://api.example');
  return cli;
}

const json = async (cli: TestCli, ...words: string[]) => JSON.parse((await cli.run(...words)).stdout);
const limits = async (cli: TestCli, ...words: string[]) =>
  (await json(cli, 'profile', 'limit', ...words)).limits;

describe('profile limit', () => {
  it('sets, changes and takes away one limit at a time', async () => {
    const cli = await withProfile();
    expect(await limits(cli)).toEqual({});
    expect(await limits(cli, '--batch-tokens', '1000.5', '--day-tokens', '5000')).toEqual({
      batchTokens: '1000.5',
      dayTokens: '5000',
    });
    expect(await limits(cli, 'main', '--supply-percent', '0.5', '--day-tokens', 'none')).toEqual({
      batchTokens: '1000.5',
      supplyPercent: '0.5',
    });
    expect(await limits(cli, '--recipients', `${alice}, ${bob},${alice}`, '--digest-above', '0')).toEqual({
      batchTokens: '1000.5',
      supplyPercent: '0.5',
      recipients: [alice, bob],
      digestAbove: '0',
    });
    const gone = ['--batch-tokens', '--supply-percent', '--recipients', '--digest-above'];
    expect(await limits(cli, ...gone.flatMap((flag) => [flag, 'none']))).toEqual({});
  });

  it('takes recipients from a file', async () => {
    const cli = await withProfile();
    writeFileSync(join(cli.home, 'recipients.txt'), `${alice}\n${bob}\n`);
    expect(await limits(cli, '--recipients', '@recipients.txt')).toEqual({ recipients: [alice, bob] });
  });

  it('says in words that nobody may be airdropped to', async () => {
    const cli = await withProfile();
    expect(await limits(cli, '--recipients', '')).toEqual({ recipients: [] });
    const shown = await cli.run('profile', 'limit', '--output', 'human');
    const who = await cli.run('whoami', '--output', 'human');
    expect([shown.stdout, who.stdout]).toEqual([
      expect.stringMatching(/recipients +nobody/),
      expect.stringMatching(/recipients +nobody \(profile\)/),
    ]);
  });

  it.each([
    ['--batch-tokens', '1,000'],
    ['--batch-tokens', '1e3'],
    ['--day-tokens', '-1'],
    ['--supply-percent', '.5'],
    ['--digest-above', ''],
    ['--recipients', 'alice'],
  ])('refuses %s %s and changes nothing', async (flag, value) => {
    const cli = await withProfile();
    const { exit, stderr } = await cli.run('profile', 'limit', flag, value);
    expect([exit, stderr]).toEqual([2, expect.stringContaining(flag)]);
    expect(await limits(cli)).toEqual({});
  });

  it('does not make a profile', async () => {
    const cli = await withProfile();
    const { exit, stderr } = await cli.run('profile', 'limit', 'other', '--day-tokens', '5');
    expect([exit, stderr]).toEqual([2, expect.stringContaining('There is no profile')]);
    expect((await testCli().run('profile', 'limit')).exit).toBe(2);
  });

  it('shows in profile show and whoami, for people too', async () => {
    const cli = await withProfile();
    await limits(cli, '--batch-tokens', '1000');
    expect((await json(cli, 'profile', 'show')).limits).toEqual({ batchTokens: '1000' });
    expect((await json(cli, 'whoami')).limits).toEqual([
      { value: { batchTokens: '1000' }, source: 'profile' },
    ]);
    for (const words of [['whoami'], ['profile', 'show']])
      expect((await cli.run(...words, '--output', 'human')).stdout).toMatch(/tokens a batch +1000/);
  });

  it('stays when other settings of the profile change', async () => {
    const cli = await withProfile();
    await limits(cli, '--batch-tokens', '1000');
    await cli.run('profile', 'add', 'main', '--rpc-url', 'https://rpc.example');
    expect(await limits(cli)).toEqual({ batchTokens: '1000' });
  });
});

describe('limits in a file of pins', () => {
  const pins = { multisig: alice, owner: bob, operator: alice, vaultIndex: 0, mint: bob };
  const pinsFile = (cli: TestCli, more: object): string => {
    const path = join(cli.home, 'pins.json');
    writeFileSync(path, JSON.stringify({ ...pins, ...more }));
    return path;
  };

  it('hold beside those of the profile', async () => {
    const cli = await withProfile();
    await limits(cli, '--batch-tokens', '1000');
    const file = pinsFile(cli, { limits: { batchTokens: '2000' } });
    expect((await json(cli, 'whoami', '--pins', file)).limits).toEqual([
      { value: { batchTokens: '1000' }, source: 'profile' },
      { value: { batchTokens: '2000' }, source: 'flag' },
    ]);
    expect((await json(cli, 'whoami', '--pins', pinsFile(cli, {}))).limits).toHaveLength(1);
  });

  it.each([
    [{ batchToken: '5' }, 'holds "batchToken", which is not known here'],
    [{ batchTokens: 5 }, 'holds batchTokens, which must be a decimal number as text'],
    [{ recipients: ['alice'] }, 'holds recipients, which must be a list of addresses'],
    [[], 'must be an object'],
  ])('that are not understood are refused: %j', async (wrong, reason) => {
    const cli = testCli();
    const { exit, stderr } = await cli.run('whoami', '--pins', pinsFile(cli, { limits: wrong }));
    expect([exit, JSON.parse(stderr).message]).toEqual([2, expect.stringContaining(reason)]);
  });
});
