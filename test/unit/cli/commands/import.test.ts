/** `flywheel import`: what is said of it. */
import { describe, expect, it } from 'vitest';
import { localWith, READER } from '../../../support/commands.js';
import { testCli } from '../../../support/in-process.js';

const MOVED = { projects: 2, rows: 12, tables: [], sha256: 'cd', wasThere: false };

describe('import', () => {
  it('prints what was imported', async () => {
    const { exit, stdout } = await testCli({ openers: localWith({ importStore: async () => MOVED }) }).run(
      'import',
      '-',
    );
    expect([exit, JSON.parse(stdout)]).toEqual([0, MOVED]);
  });

  it.each([
    [MOVED, 'Imported 2 projects, 12 rows'],
    [{ ...MOVED, projects: 1 }, 'Imported one project'],
    [{ ...MOVED, wasThere: true }, 'All of it was there already: 12 rows.'],
  ])('says it to people', async (moved, text) => {
    const cli = testCli({ ...READER, openers: localWith({ importStore: async () => moved }) });
    expect((await cli.run('import', 'a')).stdout).toContain(text);
  });
});
