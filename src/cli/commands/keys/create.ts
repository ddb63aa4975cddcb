/** `flywheel keys create`: a new API key of a project, shown once. */
import { defineCommand } from '../../command.js';
import { createdKey, keyTerms } from '../../keys/create-key.js';

export const command = defineCommand({
  configure: keyTerms,
  run: createdKey,
  output: ['{ "id", "key", "name", "scopes" }'],
  examples: ['flywheel keys create --name "cron on web-1" --scope burn --proof-type WATCH_AD'],
});
