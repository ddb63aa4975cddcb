/** `flywheel db check`: looks through a database or a data directory for what constraints cannot state, and on the chain for what it says has landed. */
import type { Command } from '@commander-js/extra-typings';
import { EXIT, type ExitCode } from '../../../errors/exit-codes.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { viewFindings } from '../../views/database.js';

const configure = (command: Command) =>
  command.option('--chain', 'look up on the chain what has landed, and hold the supplies against it');

async function run(session: Session, _args: [], { chain }: OptionsOf<typeof configure>): Promise<ExitCode> {
  const { context, settings, output } = session;
  const checks = await (await context.openDatabase(settings)).check({ onChain: chain === true });
  const ok = checks.every((one) => one.ok);
  output.result({ ok, checks }, (style) => viewFindings(checks, style));
  return ok ? EXIT.done : EXIT.unsafe;
}

export const command = defineCommand({
  configure,
  run,
  details: [
    'Checks the database of the settings, or the store of the data directory where no database is named. A server may run meanwhile.',
    'Reads all of it, which takes its time on a large one, and changes nothing.',
    'With --chain the newest burns of each project are looked up, its supply is held against all that was burned, and what the chain',
    'has and the database does not, as an older copy of it, is named.',
    `Exits with ${EXIT.unsafe} when something is not as it has to be.`,
  ],
  output: ['{ "ok": true|false, "checks": [ { "name", "ok", "detail" } ] }'],
  examples: [
    'flywheel db check',
    'flywheel db check --data-dir restored',
    'flywheel db check --chain --json',
  ],
});
