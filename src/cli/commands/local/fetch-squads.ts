/** `flywheel local fetch-squads`: the Squads program of a cluster, for the embedded engine. */
import { defineCommand } from '../../command.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const found = await (await session.local()).fetchSquads();
    session.output.result(found, (style) => [
      style.good(
        found.fetched
          ? 'This data directory now runs the real Squads program.'
          : 'This data directory already runs the real Squads program.',
      ),
      `file     ${found.file}`,
      `SHA-256  ${found.sha256}`,
    ]);
    return undefined;
  },
  details: [
    'Downloads the program from the RPC node of --rpc-url, checks its SHA-256 against the one on mainnet, and stores it in the data directory. Without it a native implementation of Squads runs, which answers UnsupportedInstruction to what it lacks.',
  ],
  output: ['{ "program": address, "sha256", "file", "fetched": boolean }'],
  examples: ['flywheel local fetch-squads --rpc-url mainnet'],
});
