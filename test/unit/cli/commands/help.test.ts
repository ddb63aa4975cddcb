/** `flywheel help`: topics, and the help of commands as `--help` prints it. */
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../../../src/errors/codes.js';
import { EXIT_CODES } from '../../../../src/errors/exit-codes.js';
import { testCli } from '../../../support/cli.js';
import { complaint, READER, refusal } from '../../../support/commands.js';

describe('help', () => {
  it.each([[[]], [['batch']], [['batch', 'init']], [['local', 'keys', 'create']]])(
    'shows of %j what --help does',
    async (words) => {
      const shown = await testCli(READER).run('help', ...words);
      expect([shown.exit, shown.stderr]).toEqual([0, '']);
      expect(shown.stdout).toBe((await testCli(READER).run(...words, '--help', '--all')).stdout);
      expect(shown.stdout).toContain(`Usage: ${['flywheel', ...words].join(' ')}`);
    },
  );

  it('lists every error with its exit number', async () => {
    const { stdout } = await testCli().run('help', 'exit-codes');
    for (const [code, { exit }] of Object.entries(ERRORS))
      expect(stdout).toMatch(new RegExp(`^${code} +${exit} `, 'm'));
  });

  it('says what a script should do at each exit number', async () => {
    const { stdout } = await testCli().run('help', 'exit-codes');
    for (const { code, meaning, script } of EXIT_CODES)
      expect(stdout).toContain(`\n${String(code).padEnd(5)}${meaning}\n     then: ${script}\n`);
  });

  it.each([
    ['environment', 'FLYWHEEL_RPC_QUORUM'],
    ['files', 'Keypair file:'],
  ])('explains %s', async (topic, part) => {
    expect(await testCli().run('help', topic)).toMatchObject({
      ...{ exit: 0, stdout: expect.stringContaining(part), stderr: '' },
    });
  });

  it('says what there is help for when there is none for that', async () => {
    expect(await refusal(testCli(), 'help', 'batch', 'nothing')).toEqual([
      2,
      'ERR_USAGE',
      'There is no help for "batch nothing".',
    ]);
    const { stderr } = await testCli().run('help', 'batch', 'nothing');
    expect(complaint(stderr).hint).toMatch(
      /^Commands: init, .*\. Topics: environment, exit-codes, files, output\.$/,
    );
    expect((await refusal(testCli(), 'help', 'files', 'more'))[0]).toBe(2);
  });
});
