/** `flywheel profile remove`: the profile and its key are gone. */
import { type CommandSpec, inSteps } from '../../command.js';
import { profileName } from '../../options/profile-name.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<name>', description: 'name of the profile' }],
  output: ['{ "removed": name }'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile remove staging'],
  run: inSteps({
    parse: (invocation) => profileName(invocation, 0),
    run: async ({ settings }, name) => {
      const { removeProfile } = await import('../../config/profile-store.js');
      await removeProfile(settings.configDir.value, name);
      return { removed: name };
    },
    view: ({ removed }, style) => [style.good(`Removed the profile ${removed}.`)],
  }),
};
