/** `flywheel profile show`: one profile, without its key. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { type CommandSpec, inSteps } from '../../command.js';
import { profileViews } from '../../config/profile-views.js';
import { viewProfile } from '../../views/profile.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '[name]', description: 'name of the profile (default: the one in use)' }],
  output: [
    '{ "name", "current", "hasApiKey", "apiUrl"?, "apiKeyHeader"?, "dataDir"?, "rpcUrl"?, "keypair"?, "pinned"? }',
  ],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile show staging'],
  run: inSteps({
    parse: (invocation, { settings }) => invocation.argument(0) ?? settings.profile.value,
    run: async (session, name) => {
      const profile = profileViews(session).find((view) => view.name === name);
      if (profile !== undefined) return profile;
      const message =
        name === null ? 'No profile is in use.' : `There is no profile ${JSON.stringify(name)}.`;
      throw new FlywheelError('ERR_CONFIG_INVALID', message, {
        hint: '`flywheel profile list` shows those there are.',
      });
    },
    view: viewProfile,
  }),
};
