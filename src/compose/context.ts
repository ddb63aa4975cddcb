/** Opens services for the command line. */
import type { Openers } from '../cli/context.js';
import { FlywheelError } from '../errors/flywheel-error.js';

const unavailable = async (): Promise<never> => {
  throw new FlywheelError('ERR_UNAVAILABLE', 'This build holds no service.');
};

export const openService: Openers['openService'] = unavailable;
export const openLocal: Openers['openLocal'] = unavailable;
export const startServer: Openers['startServer'] = unavailable;
