/** `flywheel db migrate`: makes the schema of a database, or brings it up to date. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { viewMigration } from '../../views/database.js';

const configure = (command: Command) =>
  command.option('--dry-run', 'show what would be done; change nothing');

async function run(session: Session, _args: [], { dryRun }: OptionsOf<typeof configure>): Promise<undefined> {
  const { context, settings, output } = session;
  const isDryRun = dryRun === true;
  const done = await (await context.openDatabase(settings)).migrate({ isDryRun });
  output.result({ ...done, dryRun: isDryRun }, (style) => viewMigration(done, isDryRun, style));
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Several processes may run it at once; one does the work. Servers of an older version then answer 503 until you replace them.',
    '`serve` and `register` migrate by themselves. Other commands ask you to run this one.',
  ],
  uses: ['service'],
  output: ['{ "database", "from": version, "to": version, "applied": [ name ], "dryRun": true|false }'],
  examples: ['flywheel db migrate --dry-run', 'flywheel db migrate'],
});
