/** `flywheel history`: every burn and airdrop, alone or in a batch, newest first. */
import { type Command, Option } from '@commander-js/extra-typings';
import { MOVES } from '../../contract/schemas/history.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { defineCommand, type OptionsOf, type Session } from '../command.js';
import { pipelineFilters, pipelineQuery, timesQuery } from '../options/filters.js';
import { parseBatchId } from '../options/names.js';
import { listedItems, pageOptions, partOf } from '../pages.js';
import { callWith } from '../send.js';
import { type HistoryRow, viewHistory } from '../views/history.js';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000_000;

const COLUMNS = [
  'date',
  'action',
  'amount',
  'recipient',
  'type',
  'proof hash',
  'transaction',
  'batch',
  'status',
  'message',
] as const;

const cells = (row: HistoryRow) => [
  row.date,
  row.action,
  row.amount,
  row.toAddress,
  row.type,
  row.hash,
  row.txHash,
  row.batchId,
  row.status,
  row.error?.message,
];

const configure = (command: Command) =>
  pageOptions(
    pipelineFilters(command, MOVES)
      .option('--batch <id>', 'only of this batch')
      .option('--since <time>', 'only at this time or later: 24h, yesterday, ISO 8601')
      .option('--until <time>', 'only before this time')
      .addOption(
        new Option('--status <status>', 'only single burns with this status').choices(['PENDING', 'FAILED']),
      ),
    String(DEFAULT_LIMIT),
  );

type Options = OptionsOf<typeof configure>;

/** Only burns alone have another outcome here; of a batch it is its own. */
function requireBurnsAlone({ action, recipient, batch }: Options): void {
  if ((action ?? 'BURN') === 'BURN' && recipient === undefined && batch === undefined) return;
  throw new FlywheelError('ERR_USAGE', '--status works for single burns only. Leave out the other filters.', {
    hint: 'What became of pipelines: `flywheel batch list`, `flywheel batch show ID`.',
  });
}

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const part = partOf(options, { most: MAX_LIMIT, fallback: DEFAULT_LIMIT });
  const { status } = options;
  const { action, ...filter } = { ...pipelineQuery(options), ...timesQuery(session, options) };
  if (status !== undefined) requireBurnsAlone(options);
  const batch = options.batch === undefined ? {} : { batchId: parseBatchId(options.batch) };
  const opened = await session.service();
  const { service, symbol } = opened;
  const call = callWith(session, opened);
  const rows: readonly HistoryRow[] =
    status === undefined
      ? (
          await listedItems(session, part, (page) =>
            service.history({ ...filter, ...batch, ...(action && { action }), ...page }, call),
          )
        ).map((item) => ({ ...item, status: 'SUCCESS' }))
      : (
          await listedItems(session, part, (page) => service.listBurns({ ...filter, status, ...page }, call))
        ).map(({ type, hash, txHash, amount, dateCreated: date, error }) => ({
          ...{ action: 'BURN', date, amount, type, hash, txHash, status },
          ...(error && { error }),
        }));
  await session.output.list(rows, { columns: COLUMNS, cells }, (style) => viewHistory(rows, symbol, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: ['A burn is listed once it is confirmed, an airdrop once its batch is executed.'],
  output: [
    '[ { "action": "BURN"|"AIRDROP", "date", "amount", "toAddress"?, "type", "hash", "txHash"?, "batchId"?, "status" } ]',
  ],
  csv: COLUMNS,
  examples: [
    'flywheel history --since 24h',
    'flywheel history --action AIRDROP --recipient FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
    'flywheel history --since 2026-01-01 --limit 100000 --output csv > history.csv',
  ],
});
