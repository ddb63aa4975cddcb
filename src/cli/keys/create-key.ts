/** Makes an API key: what it may do, and that it is shown once. The same for the commands of every kind of flywheel. */
import type { Command } from '@commander-js/extra-typings';
import type { OptionsOf, Session } from '../command.js';
import { collect, proofTypes } from '../options/amounts.js';
import { SCOPE_OPTION, scopesOrAll } from '../options/scopes.js';
import { viewCreatedKey } from '../views/local.js';

/** The options that say what the key may do. */
export const keyTerms = (command: Command) =>
  command
    .option('--name <name>', 'what to call the key, such as "cron on web-1"')
    .addOption(SCOPE_OPTION)
    .option('--proof-type <type>', 'proof type that the key may use (repeatable; default: all)', collect);

export async function createdKey(
  session: Session,
  _args: [],
  options: OptionsOf<typeof keyTerms>,
): Promise<undefined> {
  const types = proofTypes(options.proofType);
  const key = await (await session.local()).createKey({
    name: options.name ?? null,
    scopes: scopesOrAll(options.scope),
    proofTypes: types.length === 0 ? null : types,
  });
  session.output.result(key, (style) => viewCreatedKey(key, style));
  return undefined;
}
