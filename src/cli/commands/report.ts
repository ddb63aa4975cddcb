/** `flywheel report`: what was burned and airdropped, and what it cost, for a month or for ever. */
import type { Command } from '@commander-js/extra-typings';
import { REPORT_PERIODS, type ReportPeriod, type ReportRow } from '../../contract/schemas/report.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isoTime } from '../../values/time.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { timesQuery } from '../options/filters.js';
import { FORCE_OPTION, outputFile, requireFree, writeOutput } from '../output/output-file.js';
import { callWith } from '../send.js';
import { viewReport } from '../views/report.js';

const COLUMNS = [
  'period',
  'type',
  'burned',
  'airdropped',
  'burns',
  'failed burns',
  'pipelines',
  'failed pipelines',
  'fee lamports',
  'rent paid lamports',
  'rent reclaimed lamports',
  'vault rent lamports',
  'cost lamports',
] as const;

const cells = (row: ReportRow) => [
  row.period ?? undefined,
  row.type ?? undefined,
  row.burned,
  row.airdropped,
  row.burns,
  row.failedBurns,
  row.pipelines,
  row.failedPipelines,
  row.feeLamports,
  row.rentPaidLamports,
  row.rentReclaimedLamports,
  row.vaultRentLamports,
  row.costLamports,
];

const configure = (command: Command) =>
  command
    .option(
      '--by <what>',
      `one row per ${REPORT_PERIODS.join(', ')}; add ",type" for one per proof type (default: day)`,
    )
    .option('--since <time>', 'only what finished at this time or later: 24h, yesterday, ISO 8601')
    .option('--until <time>', 'only what finished before this time')
    .option('--html <file>', 'also write an HTML page with charts')
    .addOption(FORCE_OPTION);

type Options = OptionsOf<typeof configure>;

/** `month,type` in its parts. @throws `ERR_INPUT_INVALID` */
function rowsOf(by: string): { readonly period: ReportPeriod; readonly byType?: 'true' } {
  const words = by.split(',').map((word) => word.trim());
  const periods = REPORT_PERIODS.filter((period) => words.includes(period));
  const isType = words.includes('type');
  if (periods.length + (isType ? 1 : 0) !== words.length || periods.length > 1)
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--by: expected ${REPORT_PERIODS.join(', ')}, optionally with ",type", got ${JSON.stringify(by.slice(0, 60))}.`,
    );
  return { period: periods[0] ?? 'all', ...(isType ? { byType: 'true' as const } : {}) };
}

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const query = { ...rowsOf(options.by ?? 'day'), ...timesQuery(session, options) };
  const html = outputFile(session, '--html', options.html, options);
  if (html !== null) requireFree(html);
  const opened = await session.service();
  const { value: report } = await opened.service.report(query, callWith(session, opened));
  if (html !== null) {
    const { reportHtml } = await import('../report/report-html.js');
    writeOutput(html, reportHtml(report, isoTime(session.context.clock.nowMs())));
    session.output.notice(`Written: ${html.path}`);
  }
  const view = { columns: COLUMNS, cells };
  if (session.output.mode === 'csv') await session.output.list(report.rows, view, () => []);
  else session.output.result(report, (style) => viewReport(report, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '{ "symbol", "supply", "since", "until", "pendingBurns",',
    '  "rows": [ { "period", "type", "burned", "airdropped", "burns", "failedBurns", … } ], "total" }',
  ],
  csv: COLUMNS,
  examples: [
    'flywheel report --by month --html report.html',
    'flywheel report --by week,type --since 2026-01-01 --until 2026-04-01 --output csv > quarter.csv',
  ],
});
