/** `flywheel keys revoke`: the key is refused from now on. */
import { defineCommand } from '../../command.js';
import { revokeKey } from '../../keys/revoke-key.js';

export const command = defineCommand({
  configure: (command) => command.argument('<id>', 'id of the key, as `flywheel keys list` shows it'),
  run: (session, [id]) => revokeKey(session, id),
  output: ['{ "id", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires", "rotatedFrom" }'],
  examples: ['flywheel keys revoke 0193c1a4-5f1e-4c55-9c07-7d2e2f6c8a10'],
});
