/** Command lines that lead to the same service, as one can paste them into a shell anywhere. */
import type { Settings } from '../../compose/settings.js';
import type { Session } from '../command.js';
import type { OperationSummary } from '../journal/journal.js';
import { asFlywheelError } from '../report-failure.js';
import { shellLine } from '../shell-line.js';
import { outcomeUnknown } from './verdicts.js';

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

/** @throws `ERR_OUTCOME_UNKNOWN` with the command as the hint, where it stopped in the middle. */
export async function repeatable<Result>(session: Session, run: () => Promise<Result>): Promise<Result> {
  const hint = `Run the command again; that is safe: ${shellLine(['flywheel', ...session.commandLine])}`;
  try {
    return await run();
  } catch (thrown) {
    const error = asFlywheelError(thrown, session.context.signal);
    if (error.code === 'ERR_STORE_UNAVAILABLE' || error.options.unsent === false)
      throw outcomeUnknown(`Unknown outcome: ${error.message}`, hint, { cause: error });
    const isLate = error.code === 'ERR_TIMEOUT' && error.options.hint === undefined;
    throw isLate || error.code === 'ERR_OUTCOME_UNKNOWN' ? error.with({ hint }) : error;
  }
}
