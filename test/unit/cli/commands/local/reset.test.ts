/** `flywheel local reset`: nothing is wiped without a yes. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { complaint, localWith, person, refusal, refuse } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

/** A command line, and which directories its flywheel has wiped. */
function cliWith(options: TestCliOptions = {}) {
  const wiped: string[] = [];
  const openers = localWith({ reset: async () => void wiped.push(openers.opened.at(-1) ?? '') });
  const cli = testCli({ ...options, openers });
  return { cli, wiped, dataDir: join(cli.home, '.local/share/flywheel') };
}

describe('local reset', () => {
  it('wipes the data directory after a yes', async () => {
    const { cli, wiped, dataDir } = cliWith(person('y'));
    const { exit, stdout, questions } = await cli.run('local', 'reset');
    expect([exit, stdout]).toEqual([0, `Wiped ${dataDir}.\n`]);
    expect(questions).toEqual([`Wipe everything in ${dataDir}? [y/N] `]);
    expect(wiped).toEqual([dataDir]);
  });

  it.each(['n', '', 'yes please'])('wipes nothing after %j', async (answer) => {
    const { cli, wiped } = cliWith(person(answer));
    const { exit, stdout, stderr } = await cli.run('local', 'reset');
    expect([exit, stdout, wiped]).toEqual([130, '', []]);
    expect(stderr).toBe('error: Declined; nothing was done. (ERR_DECLINED)\n');
  });

  it('wipes nothing where nobody can be asked, and says how to go on', async () => {
    const { cli, wiped } = cliWith();
    const { exit, stderr } = await cli.run('local', 'reset');
    expect([exit, complaint(stderr).error, wiped]).toEqual([2, 'ERR_USAGE', []]);
    expect(complaint(stderr).hint).toBe('Add --yes to go on without a question.');
    const asked = cliWith(person('y'));
    expect([(await asked.cli.run('local', 'reset', '--no-input')).exit, asked.wiped]).toEqual([2, []]);
  });

  it('asks nothing with --yes, and wipes the directory that was named', async () => {
    const { cli, wiped } = cliWith();
    const dataDir = join(cli.home, 'other');
    const { exit, stdout, questions } = await cli.run('local', 'reset', '--yes', '--data-dir', 'other');
    expect([exit, stdout]).toEqual([0, `${JSON.stringify({ dataDir, reset: true })}\n`]);
    expect([wiped, questions]).toEqual([[dataDir], []]);
  });

  it('does not say that it wiped what could not be', async () => {
    const openers = localWith({ reset: async () => refuse('ERR_STORE_UNAVAILABLE', 'A process uses it.') });
    expect(await refusal(testCli({ openers }), 'local', 'reset', '--yes')).toEqual([
      6,
      'ERR_STORE_UNAVAILABLE',
      'A process uses it.',
    ]);
  });
});
