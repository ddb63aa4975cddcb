/** `flywheel local fetch-squads`: the Squads program of a cluster, for the embedded engine. */
import { defineCommand } from '../../command.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const found = await (await session.local()).fetchSquads();
    session.output.result(found, (style) => [
      style.good(
        found.fetched
          ? 'The real Squads program runs here from now on.'
          : 'The real Squads program runs here already.',
      ),
      `file     ${found.file}`,
      `SHA-256  ${found.sha256}`,
    ]);
    return undefined;
  },
  details: [
    'Reads the program from the RPC node that --rpc-url names, holds it to the SHA-256 of the one on mainnet, and keeps it in the data directory; nothing else is fetched, ever. Without it Squads runs natively, and what that lacks ends in UnsupportedInstruction.',
  ],
  output: ['{ "program": address, "sha256", "file", "fetched": boolean }'],
  examples: ['flywheel local fetch-squads --rpc-url mainnet'],
});
