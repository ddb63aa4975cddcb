/** `flywheel keys create`: a new API key of a project, shown once. */
import { defineCommand } from '../../command.js';
import { createdKey, keyTerms } from '../../keys/create-key.js';

export const command = defineCommand({
  configure: keyTerms,
  run: createdKey,
  output: ['{ "id", "key", "scopes" }'],
  errors: ['ERR_LOCAL_NOT_FOUND', 'ERR_INPUT_INVALID'],
  examples: ['flywheel keys create --scope burn --proof-type WATCH_AD'],
});
