/** `flywheel db migrate`: makes the schema of a database, or brings it up to date. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { viewMigration } from '../../views/database.js';

const configure = (command: Command) => command.option('--dry-run', 'say what would be done; change nothing');

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
    'Of many processes that do it at once one does the work, and the others find it done. Servers of an older version answer 503 from then on, until they are replaced; a version never works on a schema that it does not know.',
    'serve, register and import do it by themselves; other commands say that it is needed.',
  ],
  uses: ['service'],
  output: ['{ "database", "from": version, "to": version, "applied": [ name ], "dryRun": true|false }'],
  examples: ['flywheel db migrate --dry-run', 'flywheel db migrate'],
});
