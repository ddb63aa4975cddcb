/** `flywheel burn list`: the burns of the token, newest first. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { BurnState } from '../../../contract/schemas/burn.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { timesQuery } from '../../options/filters.js';
import { listedItems, pageOptions, partOf } from '../../pages.js';
import { callWith } from '../../send.js';
import { viewBurnList } from '../../views/burn.js';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000_000;

const COLUMNS = [
  'date',
  'type',
  'amount',
  'status',
  'proof hash',
  'transaction',
  'on chain',
  'fee lamports',
  'asked for',
  'error',
  'message',
] as const;

const cells = (burn: BurnState) => [
  burn.dateBurned,
  burn.type,
  burn.amount,
  burn.status,
  burn.hash,
  burn.txHash,
  burn.persistOnchain,
  burn.feeLamports,
  burn.dateCreated,
  burn.error?.type,
  burn.error?.message,
];

const configure = (command: Command) =>
  pageOptions(
    command
      .option('--type <type>', 'only those of this proof type')
      .addOption(
        new Option('--status <status>', 'only those of this status').choices([
          'PENDING',
          'SUCCESS',
          'FAILED',
        ]),
      )
      .option('--since <time>', 'only those asked for at this time (ISO 8601) or later')
      .option('--until <time>', 'only those asked for before this time')
      .option('--proof-hash <hash>', 'only those of the proof with this SHA-256')
      .option('--tx <signature>', 'only the one in this transaction'),
    String(DEFAULT_LIMIT),
  );

type Options = OptionsOf<typeof configure>;

async function run(session: Session, _args: [], options: Options): Promise<undefined> {
  const part = partOf(options, { most: MAX_LIMIT, fallback: DEFAULT_LIMIT });
  const { type, status, proofHash, tx } = options;
  const filter = {
    ...(type === undefined ? {} : { type }),
    ...(status === undefined ? {} : { status }),
    ...(proofHash === undefined ? {} : { proofHash: proofHash.toLowerCase() }),
    ...(tx === undefined ? {} : { txHash: tx }),
    ...timesQuery(options),
  };
  const opened = await session.service();
  const call = callWith(session, opened);
  const burns = await listedItems(session, part, (page) =>
    opened.service.listBurns({ ...filter, ...page }, call),
  );
  await session.output.list(burns, { columns: COLUMNS, cells }, (style) => viewBurnList(burns, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '[ { "hash", "txHash", "type", "amount", "persistOnchain", "status", "dateCreated", "dateBurned"?, "error"? } ]',
  ],
  csv: COLUMNS,
  examples: [
    'flywheel burn list --since 2026-01-01 --status SUCCESS',
    'flywheel burn list --limit 100000 --output csv > burns.csv',
  ],
});
