/** `flywheel profile pin`: the flywheel as it is on chain, shown, confirmed and kept. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pins } from '../../../../../src/approval/pins.js';
import { chainIn, honestWorld, pinsOf } from '../../../../support/approval-world.js';
import { complaint, person, refusal } from '../../../../support/commands.js';
import { type TestCli, type TestCliOptions, testCli } from '../../../../support/in-process.js';

const world = honestWorld('token');
const { facts, ...addresses } = pinsOf(world);
const PINNED = { ...addresses, facts };

/** A command line with a profile, before the chain of an honest flywheel. */
async function cliWith(options: TestCliOptions = {}, pins: Pins | null = { ...addresses, facts: null }) {
  const first = testCli();
  await first.run('profile', 'add', 'main', '--api-url', 'https://api.example.com');
  return testCli({
    home: first.home,
    ...options,
    opened: { chain: chainIn(world), pins, ...options.opened },
  });
}

const kept = ({ home }: TestCli) =>
  JSON.parse(readFileSync(join(home, '.config/flywheel/profiles.json'), 'utf8')).profiles.main.pinned;

describe('profile pin', () => {
  it('keeps every fact after a yes, and shows each before it asks', async () => {
    const cli = await cliWith(person('y'));
    const { exit, stdout, stderr, questions } = await cli.run('profile', 'pin');
    expect([exit, questions]).toEqual([0, ['Is this your flywheel, as it should be? [y/N] ']]);
    for (const text of [...Object.values(facts ?? {}), addresses.multisig, addresses.owner, 'threshold']) {
      expect(stderr).toContain(text);
      expect(stdout).toContain(text);
    }
    expect(kept(cli)).toEqual(PINNED);
  });

  it('keeps nothing after a no', async () => {
    const cli = await cliWith(person('n'));
    const { exit, stdout, stderr } = await cli.run('profile', 'pin', '--out', 'pins.json');
    expect([exit, stdout]).toEqual([130, '']);
    expect(stderr).toContain('error: Declined; nothing was pinned or signed. (ERR_DECLINED)');
    expect([kept(cli), existsSync(join(cli.home, 'pins.json'))]).toEqual([undefined, false]);
  });

  it('asks nothing with --yes, prints JSON, and writes the file for --pins', async () => {
    const cli = await cliWith();
    const { exit, stdout, questions } = await cli.run(
      'profile',
      'pin',
      'main',
      '--yes',
      '--out',
      'pins.json',
    );
    expect([exit, questions]).toEqual([0, []]);
    expect(stdout).toBe(`${JSON.stringify(PINNED)}\n`);
    expect(JSON.parse(readFileSync(join(cli.home, 'pins.json'), 'utf8'))).toEqual(PINNED);
    expect(kept(cli)).toEqual(PINNED);
  });

  it('says that nothing was kept where there is no profile and no file', async () => {
    const cli = testCli({ opened: { chain: chainIn(world), pins: { ...addresses, facts: null } } });
    const { exit, stderr } = await cli.run('profile', 'pin', '--yes');
    expect([exit, complaint(stderr)]).toEqual([
      0,
      {
        warning:
          'Nothing was pinned: no profile is in use that could keep it. Add --profile NAME, or --out FILE.',
      },
    ]);
    expect((await cli.run('profile', 'pin', '--yes', '--out', 'pins.json')).stderr).toBe('');
  });

  it('names what has changed since it was pinned', async () => {
    const before = { ...facts, threshold: '1' };
    const cli = await cliWith({}, { ...addresses, facts: before });
    const { exit, stderr } = await cli.run('profile', 'pin', '--yes');
    expect([exit, JSON.parse(stderr)]).toEqual([0, { notice: 'Changed: threshold was 1 and is 2.' }]);
    expect(kept(cli)).toEqual(PINNED);
  });

  it('asks nobody in a script, and keeps nothing', async () => {
    const cli = await cliWith();
    const { exit, stdout, stderr } = await cli.run('profile', 'pin');
    expect([exit, stdout, complaint(stderr).error]).toEqual([2, '', 'ERR_USAGE']);
    expect(kept(cli)).toBeUndefined();
  });

  it.each([
    ['no chain', { chain: null }, 'ERR_APPROVAL_REFUSED', 'No chain can be read'],
    ['nothing that is named', { pins: null }, 'ERR_APPROVAL_REFUSED', 'Nothing is pinned for this flywheel'],
  ] as const)('is refused with %s', async (_what, opened, code, message) => {
    const cli = await cliWith({ opened });
    expect(await refusal(cli, 'profile', 'pin', '--yes')).toEqual([
      9,
      code,
      expect.stringContaining(message),
    ]);
  });

  it.each([
    [['other'], 'ERR_USAGE', 'The profile in use is another one; add --profile other.'],
    [['--out', 'no/such/pins.json'], 'ERR_INPUT_INVALID', 'no/such'],
    [['--again'], 'ERR_USAGE', "Unknown option '--again'"],
  ])('refuses %j', async (words, code, message) => {
    const answer = await refusal(await cliWith(), 'profile', 'pin', '--yes', ...words);
    expect(answer).toEqual([2, code, expect.stringContaining(message)]);
  });
});
