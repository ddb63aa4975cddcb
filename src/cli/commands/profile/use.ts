/** `flywheel profile use`: the profile for commands that name none. */
import { defineCommand } from '../../command.js';
import { parseProfileName } from '../../options/names.js';

export const command = defineCommand({
  configure: (command) => command.argument('<name>', 'name of the profile'),
  run: async ({ settings, output }, [given]) => {
    const name = parseProfileName(given);
    const { useProfile } = await import('../../config/profile-store.js');
    await useProfile(settings.configDir.value, name);
    output.result({ current: name }, (style) => [style.good(`The current profile is ${name}.`)]);
    return undefined;
  },
  output: ['{ "current": name }'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile use staging'],
});
