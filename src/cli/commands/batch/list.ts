/** `flywheel batch list`: the batches of the flywheel, newest first. */

import { type Command, Option } from '@commander-js/extra-typings';
import { ACTION_NAMES } from '../../../actions/registry.js';
import { batchStatusSchema, type ListedBatch } from '../../../contract/schemas/batch.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { pipelineFilters, pipelineQuery, timesQuery } from '../../options/filters.js';
import { listedItems, pageOptions, partOf } from '../../pages.js';
import { callWith } from '../../send.js';
import { viewBatchList } from '../../views/batch.js';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100_000;

const COLUMNS = [
  'id',
  'status',
  'batch index',
  'transactions',
  'burns',
  'airdrops',
  'recipients',
  'executed',
  'created',
  'updated',
  'cancelled',
  'failed',
] as const;

const cells = (batch: ListedBatch) => [
  batch.id,
  batch.status,
  batch.batchIndex,
  batch.totals.pipelines,
  batch.totals.burn,
  batch.totals.airdrop,
  batch.totals.recipients,
  batch.executeResult?.totalSuccessful,
  batch.dateCreated,
  batch.dateUpdated,
  batch.dateCancelled,
  batch.executeResult?.failedTxMsg ?? batch.initResult?.failedTxMsg,
];

const configure = (command: Command) =>
  pageOptions(
    pipelineFilters(command, ACTION_NAMES)
      .addOption(new Option('--status <status>', 'only with this status').choices(batchStatusSchema.options))
      .option('--since <time>', 'only created at this time or later: 24h, yesterday, ISO 8601')
      .option('--until <time>', 'only created before this time'),
    String(DEFAULT_LIMIT),
  );

type Options = OptionsOf<typeof configure>;

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const part = partOf(options, { most: MAX_LIMIT, fallback: DEFAULT_LIMIT });
  const { status } = options;
  const filter = {
    ...pipelineQuery(options),
    ...(status === undefined ? {} : { status }),
    ...timesQuery(session, options),
  };
  const opened = await session.service();
  const call = callWith(session, opened);
  const batches = await listedItems(session, part, (page) =>
    opened.service.listBatches({ ...page, ...filter }, call),
  );
  await session.output.list(batches, { columns: COLUMNS, cells }, (style) =>
    viewBatchList(batches, opened.symbol, style),
  );
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    '--type, --action, --proof-hash and --recipient match any pipeline of a batch. Outcomes are in `batch show`.',
  ],
  output: [
    '[ { "id", "status", "totals": { "pipelines", "burn", "airdrop", "recipients" }, "batchIndex", "initResult"?, "executeResult"?, "dateCreated", … } ]',
  ],
  csv: COLUMNS,
  examples: [
    'flywheel batch list --status FINALIZED --json',
    'flywheel batch list --since 2026-01-01 --action AIRDROP --output csv',
  ],
});
