/** `flywheel keys`, `audit`, `db` and `report`: calls to the admin, and output for programs and spreadsheets. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cli/context.js';
import { createDatabaseAdmin, type DatabaseAdmin } from '../../../../src/compose/database-admin.js';
import type { LocalAdmin } from '../../../../src/compose/local-admin.js';
import type { AuditQuery } from '../../../../src/contract/admin.js';
import type { Report } from '../../../../src/contract/schemas/report.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { ACTS, DATABASE, DATE, GAP, KEYS, LATER, REPORT, VAULT } from '../fixtures.js';
import { localWith, person, refusal, reply } from '../single-command.js';

const local = (parts: Partial<LocalAdmin>, options: TestCliOptions = {}) =>
  testCli({ openers: localWith(parts), ...options });
const lines = (...rows: readonly string[]): string => `${rows.join('\n')}\n`;

describe('keys', () => {
  it('are listed as JSON, lines and CSV', async () => {
    const cli = local({ listKeys: async () => KEYS });
    expect(JSON.parse((await cli.run('keys', 'list')).stdout)).toEqual(KEYS);
    expect((await cli.run('keys', 'list', '--output', 'ndjson')).stdout).toBe(
      lines(...KEYS.map((key) => JSON.stringify(key))),
    );
    expect((await cli.run('keys', 'list', '--output', 'csv')).stdout).toBe(
      lines(
        'id,name,in use here,scopes,proof types,created,ends,revoked',
        `key-1,cron on web-1,true,burn airdrop,,${DATE},${LATER},`,
        `key-2,,false,burn,A B,${DATE},,${LATER}`,
      ),
    );
  });

  it.each([
    [[], 0],
    [['--after', '0'], 0],
    [['--after', '30min'], 1_800_000],
    [['--after', '7d'], 604_800_000],
  ])('are revoked with %j', async (words, afterMs) => {
    const asked: unknown[] = [];
    const cli = local({
      listKeys: async () => [OTHER],
      revokeKey: async (...terms) => {
        asked.push(terms);
        return OTHER;
      },
    });
    const { exit, stdout } = await cli.run('keys', 'revoke', 'cron on web-2', ...words);
    expect([exit, JSON.parse(stdout), asked]).toEqual([0, OTHER, [['key-3', afterMs]]]);
  });

  const [USED] = KEYS as [Answer<'listKeys'>[number]];
  const OTHER = { ...USED, id: 'key-3', name: 'cron on web-2', isInUse: false };

  it('are revoked with consent if commands of this machine use them, and the way back is a command', async () => {
    const asked: string[] = [];
    const revoking = (options = {}) =>
      local(
        {
          listKeys: async () => [USED, OTHER],
          revokeKey: async (id) => {
            asked.push(id);
            return { ...USED, dateRevoked: DATE };
          },
        },
        options,
      );
    const refused = await refusal(revoking(), 'keys', 'revoke', USED.id);
    expect([refused[0], refused[1], asked]).toEqual([2, 'ERR_USAGE', []]);
    expect([(await revoking(person('n')).run('keys', 'revoke', USED.id)).exit, asked]).toEqual([130, []]);
    const { stderr } = await revoking().run('keys', 'revoke', USED.id, '--yes');
    expect([asked, stderr]).toEqual([[USED.id], expect.stringMatching(/`flywheel keys create --json/)]);
    expect((await revoking().run('keys', 'revoke', OTHER.id)).stderr).toBe('');
  });

  it.each([
    ['shop', []],
    ['cron on web-2', [{ id: 'key-4' }]],
  ])('%j names no single key', async (name, more) => {
    const cli = local({ listKeys: async () => [OTHER, ...more.map((one) => ({ ...OTHER, ...one }))] });
    expect((await refusal(cli, 'keys', 'revoke', name))[1]).toBe('ERR_NOT_FOUND');
  });

  it('tell by themselves when the one of this machine was revoked', async () => {
    const [used] = KEYS as [Answer<'listKeys'>[number]];
    const service = fakeService();
    service.answer('history', () => {
      throw new FlywheelError('ERR_UNAUTHORIZED', 'The API key is missing or invalid.');
    });
    const told = async (keys: Answer<'listKeys'>[number][]) =>
      refusal(
        testCli({
          service,
          opened: { kind: 'embedded' },
          openers: localWith({ listKeys: async () => keys }),
        }),
        'history',
      );
    const revoked = await told([{ ...used, dateRevoked: DATE }]);
    expect(revoked.slice(0, 2)).toEqual([4, 'ERR_UNAUTHORIZED']);
    expect(revoked.join()).toContain(`was revoked on ${DATE}`);
    expect((await told([{ ...used, dateExpires: null }])).join()).not.toContain('revoked on');
  });
});

describe('caps', () => {
  const CAPS = VAULT.today;

  it('are raised after a yes only', async () => {
    const asked: unknown[] = [];
    const parts = {
      caps: async () => CAPS,
      setCaps: async (changes: unknown) => {
        asked.push(changes);
        return CAPS;
      },
    };
    for (const more of ['5000000.01', 'none'])
      expect((await refusal(local(parts), 'caps', '--burn', more)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    const raised = ['caps', '--burn', '10000000'];
    const { exit, questions } = await testCli({ ...person('n'), openers: localWith(parts) }).run(...raised);
    expect([exit, questions.join()]).toEqual([
      ...[130, expect.stringContaining('Raise the daily burn cap from 5,000,000 FLY to 10,000,000 FLY?')],
    ]);
    const removed = await testCli({ ...person('n'), openers: localWith(parts) }).run(
      'caps',
      '--burn',
      'none',
    );
    expect([removed.exit, removed.questions.join().replace(/\s+/g, ' ')]).toEqual([
      130,
      expect.stringContaining(
        'Remove the daily burn cap of 5,000,000 FLY? Burns will have no daily limit. [y/N]',
      ),
    ]);
    expect(asked).toEqual([]);
    expect((await testCli({ ...person('y'), openers: localWith(parts) }).run(...raised)).exit).toBe(0);
    expect((await local(parts).run('caps', '--burn', 'none', '--yes')).exit).toBe(0);
    expect(asked).toEqual([
      { burn: '10000000', airdrop: undefined },
      { burn: null, airdrop: undefined },
    ]);
  });
});

describe('audit', () => {
  it('prints what was done, as JSON and as CSV', async () => {
    const asked: AuditQuery[] = [];
    const cli = local({
      audit: async (query) => {
        asked.push(query);
        return ACTS;
      },
    });
    const { exit, stdout } = await cli.run('audit', '--since', '2026-01-31', '--limit', '2');
    expect([exit, JSON.parse(stdout)]).toEqual([0, ACTS]);
    expect(asked).toEqual([{ since: '2026-01-31T00:00:00.000Z', limit: 2 }]);
    expect((await cli.run('audit', '--output', 'csv')).stdout).toBe(
      lines(
        'date,who,what,project,subject,detail',
        `${LATER},ann@ops pid 7,keys.revoke,FLY,key-1,{}`,
        `${DATE},ann@ops pid 8,caps.set,FLY,,"${JSON.stringify(ACTS[1]?.detail).replaceAll('"', '""')}"`,
        `${DATE},ann@ops pid 6,copy,,,"{""rows"":5}"`,
      ),
    );
  });
});

describe('db', () => {
  function database(parts: Partial<DatabaseAdmin>) {
    return testCli({ openers: { openDatabase: async () => parts as DatabaseAdmin } });
  }

  it('prints its state, what was checked, and what was migrated', async () => {
    const finding = (ok: boolean) => ({ name: 'caps', ok, detail: 'as it is' });
    const asked: unknown[] = [];
    const done = { database: 'postgres://db/fly', from: 2, to: 5, applied: ['landings'] };
    const cli = database({
      status: async () => DATABASE,
      check: async ({ onChain }) => {
        asked.push(onChain);
        return [finding(true), finding(!onChain)];
      },
      migrate: async ({ isDryRun }) => {
        asked.push(isDryRun);
        return done;
      },
    });
    expect(JSON.parse((await cli.run('db', 'status')).stdout)).toEqual(DATABASE);
    const good = await cli.run('db', 'check');
    expect([good.exit, JSON.parse(good.stdout)]).toMatchObject([
      0,
      { ok: true, checks: [finding(true), {}] },
    ]);
    const bad = await cli.run('db', 'check', '--chain');
    expect([bad.exit, JSON.parse(bad.stdout).ok]).toEqual([9, false]);
    for (const [words, dryRun] of [
      [[], false],
      [['--dry-run'], true],
    ] as const)
      expect(JSON.parse((await cli.run('db', 'migrate', ...words)).stdout)).toEqual({ ...done, dryRun });
    expect(asked).toEqual([false, true, false, true]);
  });

  it('has to be named', async () => {
    const { context } = testCli();
    const openDatabase = async (settings: Parameters<typeof createDatabaseAdmin>[1]) =>
      createDatabaseAdmin(context, settings);
    const answer = await refusal(testCli({ openers: { openDatabase } }), 'db', 'status');
    expect(answer.slice(0, 2)).toEqual([2, 'ERR_CONFIG_INVALID']);
  });

  it.each([
    [['--yes', '--expect', '22'], 0, null],
    [['--yes'], 2, 'ERR_USAGE'],
    [['--expect', '22'], 2, 'ERR_USAGE'],
    [['--yes', '--expect', '21'], 2, 'ERR_INPUT_INVALID'],
    [['--yes', '--expect', 'all'], 2, 'ERR_INPUT_INVALID'],
  ])('accepts of a gap what was expected, and nothing else: %j', async (words, exit, code) => {
    const accepted: number[] = [];
    const cli = local({ gap: async () => GAP, acceptGap: async (count) => void accepted.push(count) });
    const ended = await cli.run('db', 'accept-gap', ...words);
    expect([ended.exit, accepted]).toEqual([exit, code === null ? [22] : []]);
    if (code === null) expect(JSON.parse(ended.stdout)).toEqual({ accepted: true, gap: GAP });
    else expect(ended.stderr).toContain(code);
    const { stdout } = await local({ gap: async () => null }).run('db', 'accept-gap');
    expect(JSON.parse(stdout)).toEqual({ accepted: false, gap: null });
  });
});

describe('report', () => {
  function reporting(report: Report) {
    const service = fakeService();
    service.answer('report', () => reply(report));
    return testCli({ service });
  }

  it('prints CSV whose text no spreadsheet runs', async () => {
    expect((await reporting(REPORT).run('report', '--output', 'csv')).stdout).toBe(
      lines(
        'period,type,burned,airdropped,burns,failed burns,pipelines,failed pipelines,burn wallet lamports,operator lamports,vault lamports,cost lamports',
        '2026-01,PRODUCT_BUY,1000000,20,1999,1,3,0,75000,-5000000000,2039280,-4997885720',
        "2026-02,'=SUM(A1),250000.5,0,1999,1,3,0,75000,-5000000000,2039280,-4997885720",
        '2026-02,,0,0,0,0,0,0,0,5000,0,5000',
      ),
    );
  });

  it('writes a page that loads nothing, says every number, and runs none of the text in it', async () => {
    const symbol = 'FLY<img src=x onerror=alert(1)>\u001b[31m\u202e';
    const cli = reporting({ ...REPORT, symbol });
    const file = join(cli.home, 'report.html');
    expect((await cli.run('report', '--html', file)).exit).toBe(0);
    const page = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(page).not.toMatch(/<script|<link rel="stylesheet"|https?:|<img|\p{Cc}(?<!\n)|\p{Cf}/u);
    for (const text of ['1,250,000.5', '250,000.5', '998,749,999.5', '0.000075'])
      expect(page).toContain(text);
    // A bar for what was burned, and one for what was airdropped, in each period.
    expect(page.match(/<rect/g)).toHaveLength(3);
  });
});
