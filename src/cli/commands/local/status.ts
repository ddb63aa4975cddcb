/** `flywheel local status`: the flywheel of the data directory and its balances. */
import { type CommandSpec, inSteps } from '../../command.js';
import type { LocalStatusResult } from '../../context.js';
import { viewLocalStatus } from '../../views/local.js';

export const command: CommandSpec = {
  output: [
    'what `flywheel local init` prints, without the key, and',
    '{ "supply", "burned", "balances": { "vault", "burnWallet", "owner" }, "usedToday": { "burn", "airdrop" } }',
  ],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_STORE_UNAVAILABLE'],
  examples: ['flywheel local status', 'flywheel local status --json'],
  run: inSteps<null, LocalStatusResult>({
    parse: () => null,
    run: async (session) => (await session.desk()).status(),
    view: viewLocalStatus,
  }),
};
