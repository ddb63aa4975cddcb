/** `flywheel batch list`: the batches of the flywheel, newest first. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { Batch } from '../../../contract/schemas/batch.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { integerOption } from '../../options/amounts.js';
import { firstItems } from '../../pages.js';
import { callWith } from '../../send.js';
import { viewBatchList } from '../../views/batch.js';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100_000;

const COLUMNS = [
  'id',
  'status',
  'batch index',
  'transactions',
  'executed',
  'created',
  'updated',
  'cancelled',
  'failed',
] as const;

const cells = (batch: Batch) => [
  batch.id,
  batch.status,
  batch.batchIndex,
  batch.executeResult?.total,
  batch.executeResult?.totalSuccessful,
  batch.dateCreated,
  batch.dateUpdated,
  batch.dateCancelled,
  batch.executeResult?.failedTxMsg ?? batch.initResult?.failedTxMsg,
];

const configure = (command: Command) =>
  command
    .addOption(
      new Option('--status <status>', 'only those of this status').choices([
        'AVAILABLE_TO_QUEUE',
        'FINALIZED',
        'EXECUTED',
        'FAILED',
      ]),
    )
    .option('--limit <n>', `how many at most (default: ${DEFAULT_LIMIT})`);

type Options = OptionsOf<typeof configure>;

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const limit = integerOption('--limit', options.limit, {
    least: 1,
    most: MAX_LIMIT,
    fallback: DEFAULT_LIMIT,
  });
  const { status } = options;
  const opened = await session.service();
  const call = callWith(session, opened);
  const filter = status === undefined ? {} : { status };
  const batches = await firstItems(limit, (page) => opened.service.listBatches({ ...page, ...filter }, call));
  await session.output.list(batches, { columns: COLUMNS, cells }, (style) => viewBatchList(batches, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: ['[ { "id", "status", "batchIndex", "initResult"?, "executeResult"?, "dateCreated", … } ]'],
  csv: COLUMNS,
  errors: ['ERR_UNAUTHORIZED', 'ERR_NOT_FOUND'],
  examples: ['flywheel batch list', 'flywheel batch list --status FINALIZED --json'],
});
