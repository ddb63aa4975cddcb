/** `flywheel profile remove`: the profile and its key are gone. */
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { type CommandSpec, inSteps } from '../../command.js';
import { profileName } from '../../options/profile-name.js';
import { shellLine } from '../../shell-line.js';

export const command: CommandSpec = {
  arguments: [{ syntax: '<name>', description: 'name of the profile' }],
  output: ['{ "removed": name }'],
  errors: ['ERR_CONFIG_INVALID'],
  examples: ['flywheel profile remove staging'],
  run: inSteps({
    parse: (invocation) => profileName(invocation, 0),
    run: async ({ settings }, name) => {
      const [{ removeProfile }, { countPending }] = await Promise.all([
        import('../../config/profile-store.js'),
        import('../../journal/count-pending.js'),
      ]);
      const pending = await countPending(settings.configDir.value, name);
      if (pending > 0) {
        throw new FlywheelError(
          'ERR_CONFIG_INVALID',
          `The profile ${name} has ${pending} operations whose outcome is not known or not printed; it was not removed.`,
          { hint: `Settle them first: flywheel pending resume -p ${shellLine([name])}` },
        );
      }
      await removeProfile(settings.configDir.value, name);
      return { removed: name };
    },
    view: ({ removed }, style) => [style.good(`Removed the profile ${removed}.`)],
  }),
};
