/** `flywheel audit`: what is asked for, and how it is shown. */
import { describe, expect, it } from 'vitest';
import type { AuditAct, AuditQuery } from '../../../../src/contract/admin.js';
import { localWith, READER, refusal } from '../../../support/commands.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const ACTS: readonly AuditAct[] = [
  {
    ...{ date: '2026-01-31T12:00:02.000Z', actor: 'ann@ops pid 7', action: 'keys.revoke' },
    ...{ project: 'FLY', subject: 'key-1', detail: {} },
  },
  {
    ...{ date: '2026-01-31T12:00:00.000Z', actor: 'ann@ops pid 6', action: 'migrate' },
    ...{ project: null, subject: null, detail: { version: 5 } },
  },
];

function cliWith(options: TestCliOptions = {}) {
  const asked: AuditQuery[] = [];
  const openers = localWith({
    audit: async (query) => {
      asked.push(query);
      return ACTS;
    },
  });
  return { cli: testCli({ ...options, openers }), asked };
}

describe('audit', () => {
  it('prints what was done, newest first', async () => {
    const { cli, asked } = cliWith();
    const { exit, stdout } = await cli.run('audit', '--since', '2026-01-31', '--limit', '2');
    expect([exit, JSON.parse(stdout)]).toEqual([0, ACTS]);
    expect(asked).toEqual([{ since: '2026-01-31T00:00:00.000Z', limit: 2 }]);
  });

  it('prints CSV, and a table for people', async () => {
    expect((await cliWith().cli.run('audit', '--output', 'csv')).stdout).toBe(
      [
        'date,who,what,project,subject,detail',
        '2026-01-31T12:00:02.000Z,ann@ops pid 7,keys.revoke,FLY,key-1,{}',
        '2026-01-31T12:00:00.000Z,ann@ops pid 6,migrate,,,"{""version"":5}"\n',
      ].join('\n'),
    );
    const text = (await cliWith(READER).cli.run('audit')).stdout.replace(/ +/g, ' ');
    for (const part of ['ann@ops pid 7', 'keys.revoke', 'FLY', 'all']) expect(text).toContain(part);
  });

  it('refuses a time without its zone', async () => {
    const answer = await refusal(cliWith().cli, 'audit', '--until', '2026-01-31T18:00:00');
    expect(answer.slice(0, 2)).toEqual([2, 'ERR_INPUT_INVALID']);
  });
});
