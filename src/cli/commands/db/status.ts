/** `flywheel db status`: what is in a database, how large it is, and who is at work on it. */
import { defineCommand } from '../../command.js';
import { viewDatabase } from '../../views/database.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async ({ context, settings, output }) => {
    const status = await (await context.openDatabase(settings)).status();
    output.result(status, (style) => viewDatabase(status, style));
    return undefined;
  },
  details: [
    'Row counts are estimates of the database. Running work is known by leases: a process that has ended may be listed until its lease expires.',
  ],
  uses: ['service'],
  output: [
    '{ "database", "source", "serverVersion", "latencyMs", "schema": { "version", "needed", "upToDate" }, "chain": { "name", "genesisHash" }|null,',
    '  "projects": { "count", "first": [ { "name", "symbol", "mintAddress" } ] }, "sizes": { "bytes", "tables": [ { "name", "rows", "bytes" } ] },',
    '  "connections": { "flywheel", "all", "max" }, "pending": { "burns", "batches" }, "holders": [ { "instance", "requests", "batches" } ], "openGaps",',
    '  "heldUntilBlock": "digits"|null }',
  ],
  examples: ['flywheel db status', 'flywheel db status --json'],
});
