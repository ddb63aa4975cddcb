/** `flywheel keys create`: a new API key of a project, shown once. */
import { defineCommand } from '../../command.js';
import { createdKey, keyTerms } from '../../keys/create-key.js';

export const command = defineCommand({
  configure: keyTerms,
  run: createdKey,
  output: ['{ "id", "key", "scopes" }'],
  examples: ['flywheel keys create --scope burn --proof-type WATCH_AD'],
});
