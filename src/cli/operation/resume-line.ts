/** Command lines that lead to the same service, as one can paste them into a shell anywhere. */

import type { Settings } from '../../compose/settings.js';
import type { Session } from '../command.js';
import type { OperationSummary } from '../journal/journal.js';
import { shellLine } from '../shell-line.js';

/** Goes on with an operation from what the journal holds: neither its files nor its options are needed again. */
export function resumeLine(
  { settings }: Pick<Session, 'settings'>,
  { id, command }: Pick<OperationSummary, 'id' | 'command'>,
): string {
  // A consent that was given with the command holds until the command is over.
  const yes = settings.yes || command.includes('--yes');
  return agreedLine({ ...settings, yes }, 'pending', 'resume', id);
}

/** A command that leads to the same service. */
export const commandLine = (settings: Settings, ...words: readonly string[]): string =>
  shellLine(['flywheel', ...words, ...placeFlags(settings)]);

/** The same with the consent that was given, for what the command of this run began. */
export const agreedLine = (settings: Settings, ...words: readonly string[]): string =>
  `${commandLine(settings, ...words)}${settings.yes ? ' --yes' : ''}`;

/** The flags that lead to the same service, whatever the environment says then. */
export function placeFlags({ apiUrl, apiKeyHeader, dataDir, profile }: Settings): readonly string[] {
  if (apiUrl.value === null) {
    const local = apiUrl.source === 'flag' ? ['--local'] : [];
    return [...local, ...(dataDir.source === 'default' ? [] : ['--data-dir', dataDir.value])];
  }
  return [
    // The current profile may be another one by then.
    ...(profile.value === null ? [] : ['--profile', profile.value]),
    ...(apiUrl.source === 'profile' ? [] : ['--api-url', apiUrl.value]),
    ...(apiKeyHeader.source === 'flag' ? ['--api-key-header', apiKeyHeader.value] : []),
  ];
}
