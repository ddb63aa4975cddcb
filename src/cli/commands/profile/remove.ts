/** `flywheel profile remove`: the profile and its key are gone. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { defineCommand } from '../../command.js';
import { parseProfileName } from '../../options/names.js';
import { shellLine } from '../../shell-line.js';

export const command = defineCommand({
  configure: (command) => command.argument('<name>', 'name of the profile'),
  run: async ({ settings, output }, [given]) => {
    const name = parseProfileName(given);
    const { pendingOf, removeProfile } = await import('../../config/profile-store.js');
    const pending = await pendingOf(settings.configDir.value, name);
    if (pending > 0) {
      throw new FlywheelError(
        'ERR_CONFIG_INVALID',
        `The profile ${name} has ${pending} pending operations or waiting batches. It was not removed.`,
        {
          hint: `Run \`flywheel pending resume -p ${shellLine([name])}\`. Execute or cancel waiting batches.`,
        },
      );
    }
    await removeProfile(settings.configDir.value, name);
    output.result({ removed: name }, (style) => [style.good(`Removed the profile ${name}.`)]);
    return undefined;
  },
  uses: ['service'],
  output: ['{ "removed": name }'],
  examples: ['flywheel profile remove staging'],
});
