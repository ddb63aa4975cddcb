/** `flywheel db check`: looks through a database or a data directory for what constraints cannot state, and on the chain for what it says has landed. */
import type { Command } from '@commander-js/extra-typings';
import { EXIT, type ExitCode } from '../../../errors/exit-codes.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { viewFindings } from '../../views/database.js';

const configure = (command: Command) =>
  command.option('--chain', 'also compare burns and supplies with the chain');

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
    'Checks the configured database, or the store of the data directory. A server may keep running.',
    'Reads every row, which is slow on a large database, and changes nothing.',
    'With --chain it looks up the newest burns of each project, compares the supply with everything that was burned, and lists',
    'transactions that are on chain and not in the database.',
    `Exits with ${EXIT.unsafe} if a check fails.`,
  ],
  output: ['{ "ok": true|false, "checks": [ { "name", "ok", "detail" } ] }'],
  examples: [
    'flywheel db check',
    'flywheel db check --data-dir restored',
    'flywheel db check --chain --json',
  ],
});
