/** `flywheel completion`: a script that a shell can source. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../../../src/values/digest.js';
import { READER, refusal } from '../../../support/commands.js';
import { testCli } from '../../../support/in-process.js';

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

  it('names profiles with what they lead to', async () => {
    const cli = testCli();
    expect((await cli.run('completion', '--values', 'profiles')).stdout).toBe('');
    await cli.run('profile', 'add', 'staging', '--api-url', 'https://api.example.com');
    await cli.run('profile', 'add', 'here', '--data-dir', 'data');
    const { exit, stdout } = await cli.run('completion', '--values', 'profiles', '--local');
    expect([exit, stdout]).toEqual([0, 'staging\thttps://api.example.com\nhere\tthe embedded engine\n']);
  });

  it('names batches and pending operations of the journal, the newest first', async () => {
    const cli = testCli();
    const journal = await cli.journal();
    const [first, second] = [randomUUID(), randomUUID()];
    for (const [content, batchId] of [
      ['a', first],
      ['b', second],
    ] as const) {
      const begun = journal.begin({
        ...{ kind: 'batch', content: sha256(content), origin: { from: 'content' }, again: false },
        ...{ body: () => '{}', notes: () => ({}), command: [], elements: [] },
      });
      if (begun.status !== 'taken') throw new Error('It is new.');
      begun.entry.note({ stages: [{ batchId }] });
      begun.entry.release();
    }
    journal.close();
    const words = ['--data-dir', cli.home];
    const named = async (kind: string): Promise<readonly string[]> =>
      (await cli.run('completion', '--values', kind, ...words)).stdout.trim().split('\n');
    expect(await named('batches')).toEqual(
      [second, first].map((id) => `${id}\topen, begun 2026-01-31T12:00:00.000Z`),
    );
    expect(await named('operations')).toEqual(
      new Array(2).fill(expect.stringMatching(/^[0-9a-f]{8}\tbatch, begun 2026-01-31T12:00:00.000Z$/)),
    );
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
