/** `flywheel local keys list`: the API keys, without the keys themselves. */
import type { ApiKeyInfo } from '../../../../contract/admin.js';
import { type CommandSpec, inSteps } from '../../../command.js';
import { viewKeys } from '../../../views/local.js';

export const command: CommandSpec = {
  output: ['[ { "id", "scopes", "proofTypes", "dateCreated", "dateRevoked" } ]'],
  errors: ['ERR_LOCAL_NOT_FOUND'],
  examples: ['flywheel local keys list'],
  run: inSteps<null, readonly ApiKeyInfo[]>({
    parse: () => null,
    run: async (session) => (await session.desk()).listKeys(),
    view: viewKeys,
  }),
};
