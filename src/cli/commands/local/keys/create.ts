/** `flywheel local keys create`: a new API key, shown once. */
import { defineCommand } from '../../../command.js';
import { collect, proofTypes } from '../../../options/amounts.js';
import { SCOPE_OPTION, scopesOrAll } from '../../../options/scopes.js';
import { viewCreatedKey } from '../../../views/local.js';

export const command = defineCommand({
  configure: (command) =>
    command
      .addOption(SCOPE_OPTION)
      .option('--proof-type <type>', 'a proof type that the key may use; repeat (default: all)', collect),
  run: async (session, _args, options) => {
    const types = proofTypes(options.proofType);
    const key = await (await session.local()).createKey({
      scopes: scopesOrAll(options.scope),
      proofTypes: types.length === 0 ? null : types,
    });
    session.output.result(key, (style) => viewCreatedKey(key, style));
    return undefined;
  },
  output: ['{ "id", "key", "scopes" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_INPUT_INVALID'],
  examples: ['flywheel local keys create --scope burn --proof-type WATCH_AD'],
});
