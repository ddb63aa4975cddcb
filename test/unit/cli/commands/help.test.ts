/** `flywheel help`: topics, and the help of commands as `--help` prints it. */
import { describe, expect, it } from 'vitest';
import { TOPICS } from '../../../../src/cli/help/topics.js';
import { ERRORS } from '../../../../src/errors/codes.js';
import { EXIT_CODES } from '../../../../src/errors/exit-codes.js';
import { complaint, READER, refusal } from '../../../support/commands.js';
import { testCli } from '../../../support/in-process.js';

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

  it.each([60, 80, 120])('breaks no word of a topic on a terminal of %i columns', async (columns) => {
    for (const topic of Object.keys(TOPICS)) {
      const { stdout } = await testCli({ columns, tty: { stdout: true } }).run('help', topic);
      // What is to be copied stays whole.
      const prose = stdout.split('\n').filter((line) => !/^ +[[{$]/.test(line));
      const tooLong = prose.filter((line) => line.length > columns);
      expect(tooLong.filter((line) => /\S\s/.test(line.replace(/`[^`]+`/g, '')))).toEqual([]);
      const piped = (await testCli().run('help', topic)).stdout;
      expect(stdout.split(/\s+/)).toEqual(piped.split(/\s+/));
    }
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
