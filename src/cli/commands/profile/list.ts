/** `flywheel profile list`: all profiles, without their keys. */
import { type CommandSpec, inSteps } from '../../command.js';
import { profileViews } from '../../config/profile-views.js';
import { type ProfileView, viewProfiles } from '../../views/profile.js';

export const command: CommandSpec = {
  output: ['[ { "name", "current", "hasApiKey", "apiUrl"?, … } ]'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile list'],
  run: inSteps<null, readonly ProfileView[]>({
    parse: () => null,
    run: async (session) => profileViews(session),
    view: viewProfiles,
  }),
};
