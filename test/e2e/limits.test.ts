/** Limits and prompts of the built command line: a batch over a limit is not set up, and only an explicit answer confirms. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeLong } from '../support/long.js';
import { BIN } from '../support/spawn.js';
import { pipelinesOf } from './deeds.js';
import { anOperator, type Operator, problemOf } from './operator.js';
import { onTerminal } from './terminal.js';

const REFUSED = 9;
const DECLINED = 130;

const INIT = ['--vault-tokens', '100'];

async function limited(...limits: readonly string[]): Promise<Operator> {
  const operator = await anOperator('embedded', INIT);
  const added = await operator.run('profile', 'add', 'main', '--data-dir', operator.dataDir);
  expect(added.exit).toBe(0);
  expect((await operator.run('profile', 'add', 'main', '--update', ...limits)).exit).toBe(0);
  return operator;
}

const runWords = (operator: Operator, name: string): readonly string[] => {
  const file = operator.write(`${name}.json`, pipelinesOf(name));
  return ['batch', 'run', file, '--keypair', operator.owner, '--profile', 'main', '--yes', '--json'];
};
const runFile = (operator: Operator, name: string) => operator.run(...runWords(operator, name));

describe('batch run', () => {
  it('keeps to the limit of the day over several runs', async () => {
    const operator = await limited('--day-tokens', '5');
    expect((await runFile(operator, 'first')).exit).toBe(0);
    const refused = await runFile(operator, 'second');
    expect(refused.exit).toBe(REFUSED);
    expect(problemOf(refused).message).toMatch(
      /has 3 tokens, over the limit of 5 per day in .*: batches with 3 tokens were approved/,
    );
    expect(await operator.happened()).toMatchObject({ burned: '3', batches: ['EXECUTED'] });
    expect((await operator.run('profile', 'add', 'main', '--update', '--day-tokens', 'none')).exit).toBe(0);
    expect((await runFile(operator, 'second')).exit).toBe(0);
    expect(statSync(join(operator.dataDir, 'journal.db')).mode & 0o777).toBe(0o600);
  });
});

describe('a batch that waits', () => {
  it('and is over a limit is advised by nobody, and the line of `pending` keeps to the limit', async () => {
    const operator = await limited('--batch-tokens', '2.5');
    const words = runWords(operator, 'waits');
    const init = ['batch', 'init', 'waits.json', '--profile', 'main', '--json'];
    const { id } = JSON.parse((await operator.run(...init)).stdout).batch;
    const inspected = await operator.run('batch', 'inspect', id, '--profile', 'main', '--json');
    expect([inspected.exit, JSON.parse(inspected.stdout).problem]).toEqual([
      ...[0, expect.stringContaining('3 tokens, over the limit of 2.5 per batch in the profile main')],
    ]);
    const refused = await operator.run(...words);
    expect([refused.exit, refused.stdout]).toEqual([REFUSED, '']);
    expect(problemOf(refused).hint).toMatch(
      new RegExp(`^Cancel it: \`flywheel batch cancel ${id} [^\`]+\`$`),
    );
    const listed = await operator.run('pending', '--profile', 'main', '--json');
    const [{ resume }] = JSON.parse(listed.stdout);
    expect(resume).toMatch(new RegExp(`^flywheel batch execute ${id} .*--local --profile main `));
    const line = `${resume} --yes --expect ${join(operator.directory, 'waits.json')}`;
    // Another profile may be the current one by then.
    expect((await operator.run('profile', 'use', '--none')).exit).toBe(0);
    const pasted = await operator.paste(line);
    expect([pasted.exit, pasted.stdout]).toEqual([REFUSED, '']);
    expect(await operator.happened()).toMatchObject({ burned: '0', batches: ['FINALIZED'] });
    // Without the profile, nothing limits it.
    expect((await operator.paste(line.replace('--profile main ', ''))).exit).toBe(0);
  });
});

describe('two processes at once', () => {
  it('approve together no more than a day allows', async () => {
    const operator = await limited('--day-tokens', '8');
    const ran = await Promise.all(
      ['one', 'two', 'three', 'four'].map((name) => operator.runWith({}, ...runWords(operator, name))),
    );
    const done = ran.filter(({ exit }) => exit === 0).length;
    expect(done).toBeGreaterThanOrEqual(1);
    expect(done).toBeLessThanOrEqual(2);
    expect((await operator.happened()).burned).toBe(String(3 * done));
  });
});

describeLong('what is typed before the question', () => {
  /** The shell reads the first line only, so the other lines wait in the terminal before the command starts. */
  async function approve(ahead: string, answer: string) {
    const operator = await anOperator('embedded', INIT);
    const file = operator.write('waits.json', pipelinesOf('waits'));
    const { stdout } = await operator.run('batch', 'init', file, '--json');
    const { id } = JSON.parse(stdout).batch;
    const line = `read -r go && exec '${process.execPath}' '${BIN}' batch approve ${id} --keypair ${operator.owner}`;
    return onTerminal(operator.directory, line, { NO_COLOR: '1' }, answer, `go\n${ahead}`);
  }

  it.each([
    ['a y', 'y\n', 'n'],
    ['several', 'y\ny\nyes\n', 'n'],
    ['a y without a return, and then a return', 'y', ''],
  ])('does not answer it: %s', async (_name, ahead, answer) => {
    const { status, text } = await approve(ahead, answer);
    expect([status, text]).toEqual([DECLINED, expect.stringContaining('Declined. Nothing was signed.')]);
    expect(text).not.toContain('Signed the approval');
  });

  it('does not spoil the answer', async () => {
    const { status, text } = await approve('n\nn', 'y');
    expect([status, text]).toEqual([0, expect.stringContaining('Signed the approval')]);
  });
});
