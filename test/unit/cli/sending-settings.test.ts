/** What is said of sending to a cluster: where it stands, and what is refused. */
import { describe, expect, it } from 'vitest';
import { testCli } from '../../support/in-process.js';

async function settings(cli: ReturnType<typeof testCli>, ...words: string[]) {
  const { stdout, stderr, exit } = await cli.run('whoami', ...words);
  return JSON.parse(exit === 0 ? stdout : stderr);
}

describe('a block engine', () => {
  it('is none, or that of flag, environment or profile; what may be a key in its address is not shown', async () => {
    const { home } = testCli();
    expect(await settings(testCli({ home }))).toMatchObject({
      blockEngine: { value: null, source: 'default' },
      maxTip: { value: 100_000 },
      tipFloor: { value: 'https://bundles.jito.wtf/***' },
    });
    const url = 'https://engine.example.com/?uuid=sekret-key';
    const words = ['profile', 'add', 'p', '--block-engine', url, '--max-tip', '5000'];
    const added = await testCli({ home }).run(...words);
    expect(added.stdout + added.stderr).not.toContain('sekret');
    expect(JSON.parse(added.stdout)).toMatchObject({
      blockEngine: 'https://engine.example.com/***',
      maxTip: 5_000,
    });
    const env = { FLYWHEEL_BLOCK_ENGINE: 'http://127.0.0.1:9' };
    expect(await settings(testCli({ home }))).toMatchObject({
      blockEngine: { value: 'https://engine.example.com/***', source: 'profile' },
      maxTip: { value: 5_000, source: 'profile' },
    });
    expect(await settings(testCli({ home, env }))).toMatchObject({
      blockEngine: { value: 'http://127.0.0.1:9', source: 'environment' },
    });
  });

  it.each([
    [['--max-tip', '999'], 'ERR_USAGE', /^--max-tip takes lamports a bundle from 1000/],
    [['--block-engine', 'sekret'], 'ERR_USAGE', /^--block-engine takes an http or https URL\.$/],
    [['--tip-floor', 'devnet'], 'ERR_USAGE', /^--tip-floor takes an http or https URL\.$/],
  ] as const)('is refused where it is none: %j', async (words, error, message) => {
    expect(await settings(testCli(), ...words)).toMatchObject({
      error,
      message: expect.stringMatching(message),
    });
  });
});

describe('the highest priority fee and the commitment', () => {
  it('are those of the flag, else the environment, else the profile, else as usual', async () => {
    const { home } = testCli();
    expect(await settings(testCli({ home }))).toMatchObject({
      maxPriorityFee: { value: 50_000, source: 'default' },
      commitment: { value: 'confirmed', source: 'default' },
    });
    const typed = ['--max-priority-fee', '0', '--commitment', 'finalized'];
    const added = await testCli({ home }).run('profile', 'add', 'p', ...typed);
    expect(JSON.parse(added.stdout)).toMatchObject({ maxPriorityFee: 0, commitment: 'finalized' });
    expect(await settings(testCli({ home }))).toMatchObject({
      maxPriorityFee: { value: 0, source: 'profile' },
      commitment: { value: 'finalized', source: 'profile' },
    });
    const env = { FLYWHEEL_MAX_PRIORITY_FEE: '10000000', FLYWHEEL_COMMITMENT: 'confirmed' };
    expect(await settings(testCli({ home, env }))).toMatchObject({
      maxPriorityFee: { value: 10_000_000, source: 'environment' },
      commitment: { value: 'confirmed', source: 'environment' },
    });
    expect(await settings(testCli({ home, env }), '--max-priority-fee', '7')).toMatchObject({
      maxPriorityFee: { value: 7, source: 'flag' },
    });
  });

  it.each([
    [['--max-priority-fee', '10000001'], {}, 'ERR_USAGE', /^--max-priority-fee takes lamports/],
    [['--max-priority-fee', '0.5'], {}, 'ERR_USAGE', /from 0 to 10000000, got "0.5"/],
    [['--commitment', 'processed'], {}, 'ERR_USAGE', /takes "confirmed" or "finalized"/],
    [[], { FLYWHEEL_COMMITMENT: 'max' }, 'ERR_CONFIG_INVALID', /^FLYWHEEL_COMMITMENT/],
  ] as const)('are refused where they are none: %j %j', async (words, env, error, message) => {
    expect(await settings(testCli({ env }), ...words)).toMatchObject({
      error,
      message: expect.stringMatching(message),
    });
  });
});
