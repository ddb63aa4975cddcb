/** `flywheel local rpc`: the local ledger as an RPC node, until a signal ends it. */

import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { integerOption } from '../../options/amounts.js';
import { isLoopbackHost } from '../../options/host.js';
import { untilStopped } from '../../until-stopped.js';

const DEFAULT_PORT = 8_899;

const configure = (command: Command) =>
  command
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option(
      '--port <n>',
      `port of the RPC; subscriptions also use the next port; 0 for free ones (default: ${DEFAULT_PORT})`,
    );

async function run(session: Session, _args: [], typed: OptionsOf<typeof configure>): Promise<undefined> {
  const { host = '127.0.0.1' } = typed;
  const port = integerOption('--port', typed.port, { least: 0, most: 65_534, fallback: DEFAULT_PORT });
  const node = await session.context.startLocalRpc(session.settings, { host, port });
  if (!isLoopbackHost(host))
    session.output.warn(`Everyone who can reach ${host} can take SOL from this test cluster.`);
  const { url, webSocketUrl } = node;
  session.output.result({ url, webSocketUrl }, (style) => [
    style.good(`Test cluster at ${url}, subscriptions at ${webSocketUrl}`),
  ]);
  await untilStopped(session, node, 'Stopping.');
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Serves the ledger of the data directory as Solana JSON-RPC with subscriptions, for web3.js, kit and wallets. Other commands and `flywheel serve` may use the same directory. It is a test cluster: its tokens are worthless, and `requestAirdrop` sends up to 100 SOL.',
    'Stop it with SIGTERM or Ctrl-C.',
  ],
  uses: ['service'],
  output: ['{ "url": address, "webSocketUrl": address }, once it listens'],
  examples: ['flywheel local rpc', 'flywheel local rpc --port 9899'],
});
