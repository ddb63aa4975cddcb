/** `flywheel profile show`: one profile, without its key. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand } from '../../command.js';
import { profileViews } from '../../config/profile-views.js';
import { viewProfile } from '../../views/profile.js';

export const command = defineCommand({
  configure: (command) => command.argument('[name]', 'name of the profile (default: the one in use)'),
  run: async (session, [given]) => {
    const name = given ?? session.settings.profile.value;
    const profile = profileViews(session).find((view) => view.name === name);
    if (profile === undefined) {
      const message =
        name === null ? 'No profile is in use.' : `There is no profile ${JSON.stringify(name)}.`;
      throw new FlywheelError('ERR_CONFIG_INVALID', message, {
        hint: '`flywheel profile list` shows those there are.',
      });
    }
    session.output.result(profile, (style) => viewProfile(profile, style));
    return undefined;
  },
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "rpcUrl"?, "keypair"?, "pinned"? }',
  ],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile show staging'],
});
