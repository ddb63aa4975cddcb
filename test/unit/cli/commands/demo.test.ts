/** `flywheel demo`: where it works, what it tells while it does, and that a step that fails is the end of it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LocalInitInput, LocalInitResult } from '../../../../src/cli/context.js';
import { complaint, localWith, refusal, refuse } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { namedAddress } from '../../../support/oracle.js';

const MADE: LocalInitResult = {
  ...{ tokenId: 'token-1', mintAddress: namedAddress('mint'), decimals: 6, tokenProgram: 'token' },
  ...{ flywheelId: 'flywheel-1', multisig: namedAddress('multisig'), vaultIndex: 0 },
  ...{ vaultAddress: namedAddress('vault'), burnWallet: namedAddress('burn wallet') },
  owner: { address: namedAddress('owner'), keypair: '/data/owner.json' },
  operator: namedAddress('operator'),
  apiKey: { id: 'key-1', key: 'fk_made_here', scopes: ['burn', 'airdrop'] },
  ...{ proofTypes: ['PRODUCT_BUY', 'WATCH_AD'], dailyLimits: { burn: null, airdrop: null } },
};

/** A command line whose flywheel is set up, and then cannot be looked at. */
function cliWith(options: TestCliOptions = {}) {
  const asked: LocalInitInput[] = [];
  const openers = localWith({
    init: async (input) => {
      asked.push(input);
      return MADE;
    },
    status: async () => refuse('ERR_STORE_UNAVAILABLE', 'The disk is full.'),
  });
  return { cli: testCli({ ...options, openers }), asked, opened: openers.opened };
}

describe('demo', () => {
  it('leaves its files beside the directory that was named, for who wants to go on with them', async () => {
    const { cli, asked, opened } = cliWith();
    await cli.run('demo', '--data-dir', 'd');
    const folder = join(cli.home, 'd-files');
    expect(JSON.parse(readFileSync(join(folder, 'burns.json'), 'utf8'))).toHaveLength(4);
    expect(JSON.parse(readFileSync(join(folder, 'pipelines.json'), 'utf8')).pipelines).toHaveLength(7);
    expect(asked).toMatchObject([{ name: 'Demo Token', symbol: 'DEMO' }]);
    expect(new Set(opened)).toEqual(new Set([join(cli.home, 'd'), 'closed']));
  });

  it('works in a directory of its own unless one is named, whatever the environment says', async () => {
    const env = { FLYWHEEL_DATA_DIR: '/mine', FLYWHEEL_API_URL: 'https://api.example.com' };
    const { cli, opened } = cliWith({ env });
    const { stderr } = await cli.run('demo');
    const folder =
      /^Everything happens on this machine, in (.*)\. No network, no account\.$/m.exec(stderr)?.[1] ?? '';
    expect(existsSync(join(folder, 'proof.json'))).toBe(true);
    expect(new Set(opened)).toEqual(new Set([join(folder, 'data'), 'closed']));
  });

  it('ends at the step that fails, with what that said, and prints no report', async () => {
    const { cli } = cliWith();
    const { exit, stdout, stderr } = await cli.run('demo', '--data-dir', 'd');
    expect([exit, stdout]).toEqual([6, '']);
    expect(complaint(stderr).error).toBe('ERR_INTERNAL');
    expect(complaint(stderr).message).toMatch(
      /^flywheel local status --local --data-dir \S+ ended with exit code 6: /,
    );
    expect(complaint(stderr).message).toContain('The disk is full.');
  });

  it('tells people each step with its command on stdout, a script on stderr, and nobody with --quiet', async () => {
    const human = await cliWith({ tty: { stdout: true }, env: { NO_COLOR: '1' } }).cli.run(
      'demo',
      '--data-dir',
      'd',
    );
    const steps = human.stdout.split('\n').filter((line) => /^(\d\.| {3}\$)/.test(line));
    expect(steps).toEqual([
      '1. Set up a token, a funded vault, a multisig of owner and operator, and an API',
      expect.stringMatching(
        /^ {3}\$ flywheel local init --name 'Demo Token' --symbol DEMO --local --data-dir /,
      ),
      '2. Look at the balances.',
      expect.stringMatching(/^ {3}\$ flywheel local status --local --data-dir /),
    ]);
    expect((await cliWith().cli.run('demo', '--data-dir', 'd')).stderr).toContain('2. Look at the balances.');
    const quiet = await cliWith().cli.run('demo', '--data-dir', 'd', '--quiet');
    expect(quiet.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('shows nobody the key that was made', async () => {
    const { stdout, stderr } = await cliWith().cli.run('demo');
    expect(stdout + stderr).not.toContain('fk_made_here');
  });

  it('takes no argument', async () => {
    const { cli, asked } = cliWith();
    expect((await refusal(cli, 'demo', 'd')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect(asked).toEqual([]);
  });
});
