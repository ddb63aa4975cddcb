/** `flywheel local keys list`: the API keys, without the keys themselves. */
import { defineCommand } from '../../../command.js';
import { viewKeys } from '../../../views/local.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const keys = await (await session.local()).listKeys();
    session.output.result(keys, (style) => viewKeys(keys, style));
    return undefined;
  },
  output: [
    '[ { "id", "scopes", "proofTypes", "dateCreated", "dateRevoked", "dateExpires", "rotatedFrom" } ]',
  ],
  errors: ['ERR_LOCAL_NOT_FOUND'],
  examples: ['flywheel local keys list'],
});
