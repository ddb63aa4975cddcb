/** What is to go: that it still works. */
import { describe, expect, it } from 'vitest';
import { localWith } from '../../support/commands.js';
import { testCli } from '../../support/in-process.js';

describe('what is to go', () => {
  it('export and import print what they moved', async () => {
    const moved = { rows: 12, tables: [], sha256: 'cd' };
    const exportStore = async (file: string) => ({ ...moved, file });
    const importStore = async () => ({ ...moved, projects: 2, wasThere: false });
    const cli = testCli({ openers: localWith({ exportStore, importStore }) });
    expect(JSON.parse((await cli.run('export', '/a')).stdout)).toMatchObject({ rows: 12, file: '/a' });
    expect(JSON.parse((await cli.run('import', '/a')).stdout)).toMatchObject({ rows: 12, projects: 2 });
  });
});
