/** `flywheel local status`: the flywheel of the data directory and its balances. */
import { defineCommand } from '../../command.js';
import { viewLocalStatus } from '../../views/local.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const status = await (await session.local()).status();
    session.output.result(status, (style) => viewLocalStatus(status, style));
    return undefined;
  },
  output: [
    'the output of `flywheel local init` without the key, and',
    '{ "supply", "burned", "balances": { "vault", "burnWallet", "owner" }, "usedToday": { "burn", "airdrop" } }',
  ],
  examples: ['flywheel local status', 'flywheel local status --json'],
});
