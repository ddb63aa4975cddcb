/** `flywheel keys`, `audit`, `db` and `report`: calls to the admin, and output for programs and spreadsheets. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/cli/context.js';
import { createDatabaseAdmin, type DatabaseAdmin } from '../../../../src/compose/database-admin.js';
import type { LocalAdmin } from '../../../../src/compose/local-admin.js';
import type { Report } from '../../../../src/contract/schemas/report.js';
import { FlywheelError } from '../../../../src/errors/flywheel-error.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';
import { DATE, GAP, KEYS, REPORT, VAULT } from '../fixtures.js';
import { localWith, person, refusal, reply } from '../single-command.js';

const local = (parts: Partial<LocalAdmin>, options: TestCliOptions = {}) =>
  testCli({ openers: localWith(parts), ...options });

describe('keys', () => {
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
  it.each(['5000000.01', 'none'])('are raised to %s with consent only', async (burn) => {
    const asked: unknown[] = [];
    const parts = {
      caps: async () => VAULT.today,
      setCaps: async (changes: unknown) => {
        asked.push(changes);
        return VAULT.today;
      },
    };
    const raise = ['caps', '--burn', burn];
    expect((await refusal(local(parts), ...raise)).slice(0, 2)).toEqual([2, 'ERR_USAGE']);
    expect([(await local(parts, person('n')).run(...raise)).exit, asked]).toEqual([130, []]);
    expect((await local(parts, person('y')).run(...raise)).exit).toBe(0);
    expect((await local(parts).run(...raise, '--yes')).exit).toBe(0);
    const set = { burn: burn === 'none' ? null : burn, airdrop: undefined };
    expect(asked).toEqual([set, set]);
  });
});

describe('db', () => {
  function database(parts: Partial<DatabaseAdmin>) {
    return testCli({ openers: { openDatabase: async () => parts as DatabaseAdmin } });
  }

  it('is checked, also against the chain, with exit 9 for what is wrong', async () => {
    const finding = (ok: boolean) => ({ name: 'caps', ok, detail: 'as it is' });
    const cli = database({ check: async ({ onChain }) => [finding(true), finding(!onChain)] });
    for (const [words, exit] of [
      [[], 0],
      [['--chain'], 9],
    ] as const) {
      const ended = await cli.run('db', 'check', ...words);
      expect([ended.exit, JSON.parse(ended.stdout).ok]).toEqual([exit, exit === 0]);
    }
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
  });
});
