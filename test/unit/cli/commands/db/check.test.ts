/** `flywheel db check`: its findings, and an exit number that says whether all is well. */
import { describe, expect, it } from 'vitest';
import type { DatabaseAdmin, DatabaseFinding } from '../../../../../src/cli/database-admin.js';
import { READER } from '../../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../../support/in-process.js';

const GOOD: DatabaseFinding = {
  name: 'caps',
  ok: true,
  detail: 'no days on which more has landed than their cap',
};
const BAD: DatabaseFinding = {
  name: 'supply FLY',
  ok: false,
  detail: 'less was burned than is written down',
};

function check(options: TestCliOptions, findings: readonly DatabaseFinding[], ...words: readonly string[]) {
  const asked: boolean[] = [];
  const admin: Pick<DatabaseAdmin, 'check'> = {
    check: async ({ onChain }) => {
      asked.push(onChain);
      return findings;
    },
  };
  return testCli({ ...options, openers: { openDatabase: async () => admin as DatabaseAdmin } })
    .run('db', 'check', ...words)
    .then((ended) => ({ ...ended, asked }));
}

describe('db check', () => {
  it('prints what was looked at', async () => {
    const { exit, stdout, asked } = await check({}, [GOOD]);
    expect([exit, JSON.parse(stdout), asked]).toEqual([0, { ok: true, checks: [GOOD] }, [false]]);
  });

  it('asks the chain with --chain, and ends otherwise when something is wrong', async () => {
    const { exit, stdout, asked } = await check(READER, [GOOD, BAD], '--chain');
    expect([exit, asked]).toEqual([9, [true]]);
    expect(stdout).toContain('fail supply FLY: less was burned');
  });
});
