/** `flywheel export`: where it goes, and what is said of it. */
import { describe, expect, it } from 'vitest';
import { localWith, READER } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const MOVED = { rows: 1_234, tables: [{ name: 'burns', rows: 1_234, sha256: 'ab' }], sha256: 'cd' };

function cliWith(options: TestCliOptions = {}) {
  const files: string[] = [];
  const openers = localWith({
    exportStore: async (file) => {
      files.push(file);
      return { ...MOVED, file: file === '-' ? null : file };
    },
  });
  return { cli: testCli({ ...options, openers }), files };
}

describe('export', () => {
  it('prints what the file comes to', async () => {
    const { cli, files } = cliWith();
    const { exit, stdout } = await cli.run('export', '/backup.ndjson.gz');
    expect([exit, JSON.parse(stdout)]).toEqual([0, { ...MOVED, file: '/backup.ndjson.gz' }]);
    expect(files).toEqual(['/backup.ndjson.gz']);
    expect((await cliWith(READER).cli.run('export', '/a')).stdout).toContain('1,234 rows to /a');
  });

  it('leaves standard output to the export itself', async () => {
    const { exit, stdout, stderr } = await cliWith().cli.run('export', '-');
    expect([exit, stdout, stderr]).toEqual([0, '', expect.stringContaining('1,234 rows')]);
  });
});
