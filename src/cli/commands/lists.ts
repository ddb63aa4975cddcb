/** `flywheel history`: every burn and airdrop, newest first. `flywheel report`: their totals and costs. */
import { type Command, Option } from '@commander-js/extra-typings';
import { MOVES, REPORT_PERIODS, type ReportPeriod } from '../../contract/limits.js';
import type { HistoryItem, Report } from '../../contract/schemas/report.js';
import { invalidInput, usageError } from '../../errors/flywheel-error.js';
import { isoTime } from '../../values/time.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import {
  given,
  listedItems,
  pageOptions,
  partOf,
  pipelineFilters,
  pipelineQuery,
  timesQuery,
} from '../lists.js';
import { parseBatchId } from '../options.js';
import type { Style } from '../output/color.js';
import { FORCE_OPTION, outputFile, requireFree, writeOutput } from '../output/output-file.js';
import { safeLine } from '../output/safe-text.js';
import { type Columns, fieldLines, tableLines } from '../output/table.js';
import { callWith } from '../send.js';
import { REPORT_CSV, reportHtml, viewReport } from '../views/report.js';
import { linkField, tokensText } from '../views/unit.js';

const HISTORY_LIMIT = { most: 1_000_000, fallback: 50 };

const HISTORY_CSV: Columns<HistoryRow> = {
  ...({ date: 'date', action: 'action', amount: 'amount', recipient: 'toAddress', type: 'type' } as const),
  ...({ 'proof hash': 'hash', transaction: 'txHash', batch: 'batchId', status: 'status' } as const),
  message: (row) => row.error?.message,
};

/** A landed burn or airdrop, or a single burn that is pending or failed. */
interface HistoryRow extends HistoryItem {
  readonly status: 'SUCCESS' | 'PENDING' | 'FAILED';
  readonly error?: { readonly type: string; readonly message: string } | undefined;
}

/** One row with all its fields, several as a table. @param isAlone - single burns with a status, which have no recipient */
function viewHistory(
  rows: readonly HistoryRow[],
  symbol: string | null,
  isAlone: boolean,
  style: Style,
): readonly string[] {
  const [first, ...others] = rows;
  if (first === undefined) return ['No burns or airdrops found.'];
  const amount = (row: HistoryRow): string => tokensText(row.amount, symbol);
  if (others.length > 0)
    return tableLines(
      rows,
      {
        'date (UTC)': ({ date }) => date.slice(0, 16).replace('T', ' '),
        amount,
        ...(isAlone
          ? {
              type: ({ type }) => type,
              status: ({ status }) => status,
              reason: ({ error }) => error?.message,
            }
          : { to: ({ toAddress }) => toAddress ?? 'burned' }),
      },
      style.width,
      { right: ['amount'], wraps: 'reason' },
    );
  const { action, status, ...row } = first;
  return [
    `${row.date} ${style.bold(`${action} ${amount(first)}`)}${status === 'SUCCESS' ? '' : style.bad(` ${status}`)}`,
    ...fieldLines(
      [
        ['to', row.toAddress],
        ['proof', `${safeLine(row.type)} ${row.hash}`],
        ['batch', row.batchId],
        ['transaction', row.txHash],
        linkField(style, 'tx', row.txHash),
        ['reason', row.error?.message],
      ],
      style,
    ),
  ];
}

const historyOptions = (command: Command) =>
  pageOptions(
    pipelineFilters(command, MOVES)
      .option('--batch <id>', 'only of this batch')
      .option('--since <time>', 'only at this time or later: 24h, yesterday, ISO 8601')
      .option('--until <time>', 'only before this time')
      .addOption(
        new Option('--status <status>', 'only single burns with this status').choices(['PENDING', 'FAILED']),
      ),
    `${HISTORY_LIMIT.fallback}; csv: all`,
  );

type HistoryOptions = OptionsOf<typeof historyOptions>;

/** Only single burns have a status here; pipelines have that of their batch. */
function requireBurnsAlone({ action, recipient, batch }: HistoryOptions): void {
  if ((action ?? 'BURN') === 'BURN' && recipient === undefined && batch === undefined) return;
  throw usageError(
    '--status works for single burns only, without --action AIRDROP, --recipient and --batch.',
    'Outcomes of pipelines: `flywheel batch show ID`',
  );
}

async function history(session: Session, _args: [], options: HistoryOptions): Promise<void> {
  const part = partOf(session, options, HISTORY_LIMIT);
  const { status } = options;
  const { action, ...filter } = { ...pipelineQuery(options), ...timesQuery(session, options) };
  if (status !== undefined) requireBurnsAlone(options);
  const batchId = options.batch === undefined ? undefined : parseBatchId(options.batch);
  const opened = await session.service();
  const { service, symbol } = opened;
  const call = callWith(session, opened);
  const rows: readonly HistoryRow[] =
    status === undefined
      ? (
          await listedItems(session, part, (page) =>
            service.history({ ...filter, ...given({ batchId, action }), ...page }, call),
          )
        ).map((item) => ({ ...item, status: 'SUCCESS' }))
      : (
          await listedItems(session, part, (page) => service.listBurns({ ...filter, status, ...page }, call))
        ).map(({ type, hash, txHash, amount, dateCreated: date, error }) => ({
          ...{ action: 'BURN', date, amount, type, hash, txHash, status },
          ...(error && { error }),
        }));
  await session.output.list(rows, HISTORY_CSV, (style) =>
    viewHistory(rows, symbol, status !== undefined, style),
  );
}

const reportOptions = (command: Command) =>
  command
    .option(
      '--by <what>',
      `one row per ${REPORT_PERIODS.join(', ')}; add ",type" for one per proof type (default: day)`,
    )
    .option('--since <time>', 'only operations finished at this time or later: 24h, yesterday, ISO 8601')
    .option('--until <time>', 'only operations finished before this time')
    .option('--html <file>', 'also write an HTML page')
    .addOption(FORCE_OPTION);

/** Parses text such as `month,type`. @throws `ERR_INPUT_INVALID` */
function rowsOf(by: string): { readonly period: ReportPeriod; readonly byType?: 'true' } {
  const words = by.split(',').map((word) => word.trim());
  const periods = REPORT_PERIODS.filter((period) => words.includes(period));
  const isType = words.includes('type');
  if (periods.length + (isType ? 1 : 0) !== words.length || periods.length > 1)
    throw invalidInput(
      `--by: expected ${REPORT_PERIODS.join(', ')}, optionally with ",type", got ${JSON.stringify(by.slice(0, 60))}.`,
    );
  return { period: periods[0] ?? 'all', ...(isType ? { byType: 'true' as const } : {}) };
}

async function report(
  session: Session,
  _args: [],
  options: OptionsOf<typeof reportOptions>,
): Promise<Report> {
  const query = { ...rowsOf(options.by ?? 'day'), ...timesQuery(session, options) };
  const html = outputFile(session, '--html', options.html, options);
  if (html !== null) requireFree(html);
  const opened = await session.service();
  const { value } = await opened.service.report(query, callWith(session, opened));
  if (html !== null) {
    writeOutput(html, reportHtml(value, isoTime(session.context.clock.nowMs())));
    session.output.notice(`Wrote ${html.path}`);
  }
  return value;
}

export const commands = {
  history: defineCommand({
    configure: historyOptions,
    run: history,
    details: [
      'Lists a single burn when it is confirmed, and the burns and airdrops of a batch when they are executed.',
      'A terminal shows several as a table, and one with its proof, batch and transaction. --json and --output csv have everything.',
    ],
    output: [
      '[ { "action": "BURN"|"AIRDROP", "date", "amount", "toAddress"?, "type", "hash", "txHash"?, "batchId"?, "status" } ]',
    ],
    csv: HISTORY_CSV,
    examples: [
      'flywheel history --since 24h',
      'flywheel history --action AIRDROP --recipient FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
      'flywheel history --since 2026-01-01 --output csv > history.csv',
    ],
  }),
  report: defineCommand({
    configure: reportOptions,
    run: report,
    view: viewReport,
    rows: ({ rows }) => rows,
    output: [
      '{ "symbol", "supply", "since", "until", "pendingBurns",',
      '  "rows": [ { "period", "type", "burned", "airdropped", "burns", "failedBurns", … } ], "total" }',
    ],
    csv: REPORT_CSV,
    examples: [
      'flywheel report --by month --html report.html',
      'flywheel report --by week,type --since 2026-01-01 --until 2026-04-01 --output csv > quarter.csv',
    ],
  }),
};
