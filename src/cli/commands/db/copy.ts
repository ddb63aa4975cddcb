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
    'Copies all rows, the configuration and the API keys of the data directory into the configured database, which must have no project yet. The copy is read back and compared before it counts. Running it again changes nothing.',
    'Stop every process that uses the directory first, and use the database from then on. Private keys stay in the directory. Writes start once every transaction that was sent before has expired.',
    'For a backup use `VACUUM INTO` on store.db, or `pg_dump` on the database.',
  ],
  uses: ['service'],
  output: [
    '{ "database", "project", "rows", "tables": [ { "name", "rows", "sha256" } ], "wasThere": boolean }',
  ],
  examples: ['flywheel db copy --data-dir ~/.local/share/flywheel --database-url-file database-url'],
});
