/** `flywheel db copy`: everything of a data directory on a cluster into a database. */
import { defineCommand } from '../../command.js';
import { viewCopy } from '../../views/database.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async ({ context, settings, output }) => {
    const copied = await (await context.openDatabase(settings)).copy();
    output.result(copied, () => viewCopy(copied));
    return undefined;
  },
  details: [
    'All rows, what the configuration says and the keys of the API go from the data directory into the database of the settings, in which nothing is registered yet; they are read back and compared before anything counts. The same command again changes nothing.',
    'Stop what uses the directory first, and use the database from then on. Private keys stay where they are. Nothing is written there until all has expired that may have been sent before.',
    'A backup is `VACUUM INTO` of store.db, or `pg_dump` of the database.',
  ],
  uses: ['service'],
  output: [
    '{ "database", "project", "rows", "tables": [ { "name", "rows", "sha256" } ], "wasThere": boolean }',
  ],
  examples: ['flywheel db copy --data-dir ~/.local/share/flywheel --database-url-file database-url'],
});
