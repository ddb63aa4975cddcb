/** `flywheel profile list`: all profiles, without their keys. */
import { defineCommand } from '../../command.js';
import { profileViews } from '../../config/profile-views.js';
import { viewProfiles } from '../../views/profile.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const profiles = profileViews(session);
    session.output.result(profiles, (style) => viewProfiles(profiles, style));
    return undefined;
  },
  uses: ['service'],
  output: ['[ { "name", "current", "hasApiKey", "apiUrl"?, … } ]'],
  examples: ['flywheel profile list'],
});
