/** `flywheel profile use`: the profile for commands that name none. */
import { type CommandSpec, inSteps } from '../../command.js';
import { profileName } from '../../options/profile-name.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<name>', description: 'name of the profile' }],
  output: ['{ "current": name }'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile use staging'],
  run: inSteps({
    parse: (invocation) => profileName(invocation, 0),
    run: async ({ settings }, name) => {
      const { useProfile } = await import('../../config/profile-store.js');
      await useProfile(settings.configDir.value, name);
      return { current: name };
    },
    view: ({ current }, style) => [style.good(`The current profile is ${current}.`)],
  }),
};
