/** Placeholder. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { CommandSpec } from '../command.js';

export const command: CommandSpec = {
  output: [],
  errors: [],
  examples: [],
  run: async () => {
    throw new FlywheelError('ERR_UNAVAILABLE', 'This command is not there yet.');
  },
};
