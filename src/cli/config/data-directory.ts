/** Refuses a command that reads a data directory where a remote API is meant: it would show and change something else. */

import type { Settings } from '../../compose/settings.js';
import { FlywheelError } from '../../errors/flywheel-error.js';

const READS_DIRECTORY = /^flywheel (?:audit|db|keys|register|vault)\b/;

/** Their names say where they work: only an API that is named on the command line contradicts that. */
const LOCAL = /^flywheel (?:local|serve)\b/;

/**
 * @param path - the words that lead to the command.
 * @throws `ERR_USAGE`
 */
export function requireDataDirectory(path: string, { apiUrl, profile }: Settings): void {
  if (apiUrl.value === null) return;
  const isProfile = apiUrl.source === 'profile';
  const isTyped = (isProfile ? profile.source : apiUrl.source) === 'flag';
  if (!READS_DIRECTORY.test(path) && !(isTyped && LOCAL.test(path))) return;
  const remote = isProfile ? `profile ${profile.value}` : apiUrl.value;
  throw new FlywheelError('ERR_USAGE', `\`${path}\` reads a data directory, but ${remote} is a remote API.`, {
    hint: 'Add --local to use the data directory of this machine.',
  });
}
