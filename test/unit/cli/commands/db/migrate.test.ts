/** `flywheel db migrate`: what was done, what would be done, and that a database has to be named. */
import { describe, expect, it } from 'vitest';
import type { DatabaseAdmin, DatabaseMigration } from '../../../../../src/cli/database-admin.js';
import { READER } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';
import { unwrapped } from '../../../../support/spawn.js';

const DONE: DatabaseMigration = {
  database: 'postgres://db/fly',
  from: 2,
  to: 5,
  applied: ['landings', 'projects'],
};

function migrate(options: TestCliOptions, done: DatabaseMigration, ...words: readonly string[]) {
  const asked: boolean[] = [];
  const admin: Pick<DatabaseAdmin, 'migrate'> = {
    migrate: async ({ isDryRun }) => {
      asked.push(isDryRun);
      return done;
    },
  };
  const openers = { openDatabase: async () => admin as DatabaseAdmin };
  return testCli({ ...options, openers })
    .run('db', 'migrate', ...words)
    .then((ended) => ({ ...ended, asked }));
}

describe('db migrate', () => {
  it('prints what it has done', async () => {
    const { exit, stdout, asked } = await migrate({}, DONE);
    expect([exit, JSON.parse(stdout), asked]).toEqual([0, { ...DONE, dryRun: false }, [false]]);
  });

  it('only says so with --dry-run', async () => {
    const { stdout, asked } = await migrate(READER, DONE, '--dry-run');
    expect(asked).toEqual([true]);
    expect(unwrapped(stdout)).toContain('would be brought from schema version 2 to 5: landings, projects.');
  });

  it('says that there is nothing to do', async () => {
    expect((await migrate(READER, { ...DONE, from: 5, applied: [] })).stdout).toContain('nothing to do');
  });
});
