/** `flywheel completion`: a script that a shell can source. */
import { describe, expect, it } from 'vitest';
import { testCli } from '../../../support/cli.js';
import { READER, refusal } from '../../../support/commands.js';

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('offers every word and option to %s', async (shell) => {
    const { exit, stdout, stderr } = await testCli().run('completion', shell);
    expect([exit, stderr]).toEqual([0, '']);
    for (const word of ['export-owner', '--persist-onchain', '--failed-out']) expect(stdout).toContain(word);
  });

  it('is the same script for people and with --json', async () => {
    const { stdout } = await testCli().run('completion', 'bash');
    expect((await testCli(READER).run('completion', 'bash')).stdout).toBe(stdout);
    expect((await testCli().run('completion', 'bash', '--json')).stdout).toBe(stdout);
  });

  it('refuses another shell, and none', async () => {
    expect(await refusal(testCli(), 'completion', 'tcsh')).toEqual([
      2,
      'ERR_USAGE',
      expect.stringContaining('Allowed choices are bash, zsh, fish.'),
    ]);
    expect((await refusal(testCli(), 'completion')).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
  });
});
