/** `flywheel local keys revoke`: the key is refused from now on. */
import { defineCommand } from '../../../command.js';

export const command = defineCommand({
  configure: (command) => command.argument('<id>', 'id of the key, as `flywheel local keys list` shows it'),
  run: async (session, [id]) => {
    const key = await (await session.local()).revokeKey(id);
    session.output.result(key, (style) => [style.good(`Revoked ${key.id} (${key.dateRevoked ?? 'now'}).`)]);
    return undefined;
  },
  output: ['{ "id", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires", "rotatedFrom" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_NOT_FOUND'],
  examples: ['flywheel local keys revoke key_1'],
});
