/** `flywheel local keys create`: a new API key, shown once. */
import { type CommandSpec, inSteps } from '../../../command.js';
import { proofTypes } from '../../../options/amounts.js';
import { parseScopes, SCOPE_OPTION } from '../../../options/scopes.js';
import { viewCreatedKey } from '../../../views/local.js';

export const command: CommandSpec = {
  options: [
    SCOPE_OPTION,
    {
      flags: '--proof-type <type>',
      description: 'a proof type that the key may use; repeat (default: all)',
      repeats: true,
    },
  ],
  output: ['{ "id", "key", "scopes" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_INPUT_INVALID'],
  examples: ['flywheel local keys create --scope burn --proof-type WATCH_AD'],
  run: inSteps({
    parse: (invocation) => {
      const types = proofTypes(invocation);
      return { scopes: parseScopes(invocation), proofTypes: types.length === 0 ? null : types };
    },
    run: async (session, input) => (await session.desk()).createKey(input),
    view: viewCreatedKey,
  }),
};
