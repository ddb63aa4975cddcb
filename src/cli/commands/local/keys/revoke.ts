/** `flywheel local keys revoke`: the key is refused from now on. */
import { defineCommand } from '../../../command.js';
import { revokeKey } from '../../../keys/revoke-key.js';

export const command = defineCommand({
  configure: (command) => command.argument('<id>', 'id of the key, as `flywheel local keys list` shows it'),
  run: (session, [id]) => revokeKey(session, id),
  output: ['{ "id", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires", "rotatedFrom" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_NOT_FOUND'],
  examples: ['flywheel local keys revoke key_1'],
});
