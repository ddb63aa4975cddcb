/** `flywheel local keys revoke`: the key is refused from now on. */
import { type CommandSpec, inSteps } from '../../../command.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<id>', description: 'id of the key, as `flywheel local keys list` shows it' }],
  output: ['{ "id", "scopes", "proofTypes", "dateCreated", "dateRevoked" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_NOT_FOUND'],
  examples: ['flywheel local keys revoke key_1'],
  run: inSteps({
    parse: (invocation) => invocation.requiredArgument(0),
    run: async (session, id) => (await session.desk()).revokeKey(id),
    view: ({ id, dateRevoked }, style) => [style.good(`Revoked ${id} (${dateRevoked ?? 'now'}).`)],
  }),
};
