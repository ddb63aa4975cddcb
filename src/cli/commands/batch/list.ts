/** `flywheel batch list`: the batches of the flywheel, newest first. */
import { type Command, Option } from '@commander-js/extra-typings';
import { type Batch, MAX_PAGE_ITEMS } from '../../../contract/schemas/batch.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { integerOption } from '../../options/amounts.js';
import { callWith } from '../../send.js';
import { viewBatchList } from '../../views/batch.js';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100_000;

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
  const batches: Batch[] = [];
  for (let cursor: string | undefined, more = true; more && batches.length < limit; ) {
    const { value } = await opened.service.listBatches(
      {
        limit: Math.min(MAX_PAGE_ITEMS, limit - batches.length),
        ...(status === undefined ? {} : { status }),
        ...(cursor === undefined ? {} : { cursor }),
      },
      callWith(session, opened),
    );
    batches.push(...value.items);
    cursor = value.nextCursor ?? undefined;
    more = cursor !== undefined;
  }
  session.output.result(batches, (style) => viewBatchList(batches, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: ['[ { "id", "status", "batchIndex", "initResult"?, "executeResult"?, "dateCreated", … } ]'],
  errors: ['ERR_UNAUTHORIZED', 'ERR_NOT_FOUND'],
  examples: ['flywheel batch list', 'flywheel batch list --status FINALIZED --json'],
});
