/** `flywheel report`: sums for people, programs and spreadsheets. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Report } from '../../../../src/contract/schemas/report.js';
import { READER, refusal, reply } from '../../../support/commands.js';
import { fakeService } from '../../../support/fake-service.js';
import { type TestCliOptions, testCli } from '../../../support/in-process.js';

const SUMS = {
  ...{
    burned: '1250000.5',
    airdropped: '20',
    burns: 1_999,
    failedBurns: 1,
    pipelines: 3,
    failedPipelines: 0,
  },
  ...{ feeLamports: '75000', rentLamports: '-5000000000' },
};
const NONE = { burned: '0', airdropped: '0', burns: 0, failedBurns: 0, pipelines: 0, failedPipelines: 0 };
const REPORT: Report = {
  ...{ symbol: 'FLY', mintAddress: 'So11111111111111111111111111111111111111112', decimals: 6 },
  ...{ supply: '998749999.5', since: '2026-01-01T00:00:00.000Z', until: null, pendingBurns: 2 },
  chargesTransferFee: false,
  rows: [
    { period: '2026-01', type: 'PRODUCT_BUY', ...SUMS, burned: '1000000' },
    { period: '2026-02', type: '=SUM(A1)', ...SUMS, burned: '250000.5', airdropped: '0' },
    { period: '2026-02', type: null, ...NONE, feeLamports: '5000', rentLamports: '0' },
  ],
  total: SUMS,
};

function cliWith(report: Report, options: TestCliOptions = {}) {
  const service = fakeService();
  service.answer('report', () => reply(report));
  return testCli({ ...options, service });
}

describe('report', () => {
  it('hands on what is asked for, and prints the answer', async () => {
    const cli = cliWith(REPORT);
    const { exit, stdout } = await cli.run('report', '--by', 'month,type', '--since', '2026-01-01');
    expect([exit, JSON.parse(stdout)]).toEqual([0, REPORT]);
    await cli.run('report');
    await cli.run('report', '--by', 'type', '--until', '2026-02-01T00:00:00+01:00');
    expect(cli.service.calls.map(({ input }) => input)).toEqual([
      { period: 'month', byType: 'true', since: '2026-01-01T00:00:00.000Z' },
      { period: 'day' },
      { period: 'all', byType: 'true', until: '2026-01-31T23:00:00.000Z' },
    ]);
  });

  it('tells people sums, and a bar a row in proportion', async () => {
    const { stdout } = await cliWith(REPORT, READER).run('report', '--by', 'month,type');
    expect(stdout).toContain('Report on FLY since 2026-01-01T00:00:00.000Z');
    for (const text of [
      ...['1,250,000.5 FLY', '998,749,999.5 FLY', '1,999, and 1 failed', '99.9 % of 2,003'],
      ...['0.000075 SOL', '-5 SOL', '2 burns', '(batches)'],
    ])
      expect(stdout).toContain(text);
    const bars = stdout.split('\n').flatMap((line) => /█+/.exec(line)?.[0].length ?? []);
    expect(bars).toHaveLength(2);
    expect(Math.round((bars[0] ?? 0) / (bars[1] ?? 1))).toBe(4);
    const nothing = { ...REPORT, rows: [] };
    const { stdout: empty } = await cliWith(nothing, READER).run('report');
    expect(empty).toContain('Nothing was burned or airdropped.');
  });

  it('prints CSV whose text no spreadsheet runs', async () => {
    const { stdout } = await cliWith(REPORT).run('report', '--output', 'csv');
    expect(stdout.split('\n')).toEqual([
      'period,type,burned,airdropped,burns,failed burns,pipelines,failed pipelines,fee lamports,rent lamports',
      '2026-01,PRODUCT_BUY,1000000,20,1999,1,3,0,75000,-5000000000',
      "2026-02,'=SUM(A1),250000.5,0,1999,1,3,0,75000,-5000000000",
      '2026-02,,0,0,0,0,0,0,5000,0',
      '',
    ]);
  });

  it('writes a page that loads nothing, says every number, and runs none of the text in it', async () => {
    const cli = cliWith(REPORT);
    const file = join(cli.home, 'report.html');
    const { exit } = await cli.run('report', '--html', file);
    expect(exit).toBe(0);
    const page = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(page).not.toMatch(/<script|<link rel="stylesheet"|https?:/);
    for (const text of ['1,250,000.5 FLY', '250,000.5', '998,749,999.5 FLY', '0.000075', '(batches)'])
      expect(page).toContain(text);
    // A bar for each row that burned something.
    expect(page.match(/<rect/g)).toHaveLength(3);
    const hostile = { ...REPORT, symbol: '<img src=x onerror=alert(1)>\u001b[31m\u202e' };
    await cliWith(hostile, { home: cli.home }).run('report', '--html', file);
    expect(readFileSync(file, 'utf8')).not.toMatch(/<img|\p{Cc}(?<!\n)|\p{Cf}/u);
  });

  it.each([
    [['--by', 'year'], '--by: expected day, week, month, all'],
    [['--by', 'day,week'], '--by: expected'],
    [['--since', 'monday'], '--since: expected a day'],
  ])('refuses %j without asking', async (words, message) => {
    const cli = cliWith(REPORT);
    expect(await refusal(cli, 'report', ...words)).toEqual([
      ...[2, 'ERR_INPUT_INVALID', expect.stringContaining(message)],
    ]);
    expect(cli.service.calls).toEqual([]);
  });
});
