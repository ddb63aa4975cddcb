/** Builds command lines for the same service, to paste into a shell anywhere. */
import type { Settings } from '../../compose/settings.js';
import type { Session } from '../command.js';
import type { OperationSummary } from '../journal/journal.js';
import { asFlywheelError } from '../report-failure.js';
import { shellLine } from '../shell-line.js';
import { breaksOff, outcomeUnknown } from './verdicts.js';

/** Needs no files or options of the operation: the journal has them. */
export function resumeLine(
  { settings }: Pick<Session, 'settings'>,
  { id, command }: Pick<OperationSummary, 'id' | 'command'>,
): string {
  // Consent given with the command lasts until the operation ends.
  const yes = settings.yes || command.includes('--yes');
  return agreedLine({ ...settings, yes }, 'pending', 'resume', id);
}

export const commandLine = (settings: Settings, ...words: readonly string[]): string =>
  shellLine(['flywheel', ...words, ...placeFlags(settings), ...chainFlags(settings, words)]);

/** Like {@link commandLine}, with `--yes` if this run had it. */
export const agreedLine = (settings: Settings, ...words: readonly string[]): string =>
  `${commandLine(settings, ...words)}${settings.yes ? ' --yes' : ''}`;

/** Flags that select the same service in any environment. */
export function placeFlags(settings: Settings): readonly string[] {
  const { apiUrl, apiKeyHeader, dataDir, database, project, profile } = settings;
  if (apiUrl.value === null) {
    const file = database.source === 'flag' ? database.value?.file : null;
    return [
      ...(apiUrl.source === 'flag' ? ['--local'] : []),
      ...(dataDir.source === 'default' ? [] : ['--data-dir', dataDir.value]),
      ...(file == null ? [] : ['--database-url-file', file]),
      ...(project.source === 'flag' && project.value !== null ? ['--project', project.value] : []),
    ];
  }
  return [
    // The current profile may change before the command is run.
    ...(profile.value === null ? [] : ['--profile', profile.value]),
    ...(apiUrl.source === 'profile' ? [] : ['--api-url', apiUrl.value]),
    ...(apiKeyHeader.source === 'flag' ? ['--api-key-header', apiKeyHeader.value] : []),
  ];
}

const ASKS_NODES = /^(?:batch|burn|burn-batch|doctor|history|pending|vault)\b/;
const TAKES_PINS = /^(?:batch (?:approve|cancel|execute|run)|doctor|pending)\b/;

/** Nodes and pins of this run, for commands that accept them. Parts of an address that may be a key are `***`. */
export function chainFlags(
  { rpcUrl, rpcQuorum, pinsFile }: Settings,
  words: readonly string[],
): readonly string[] {
  const command = words.slice(0, 2).join(' ');
  const nodes = ASKS_NODES.test(command) && rpcUrl.source === 'flag' ? rpcUrl.value : [];
  const quorum = nodes.length > 0 && rpcQuorum.source === 'flag' ? ['--quorum', String(rpcQuorum.value)] : [];
  return [
    ...nodes.flatMap(({ shown }) => ['--rpc-url', shown]),
    ...quorum,
    ...(pinsFile !== null && TAKES_PINS.test(command) ? ['--pins', pinsFile] : []),
  ];
}

/** An interrupted run ends with `ERR_OUTCOME_UNKNOWN`, and its hint is the command itself. */
export async function repeatable<Result>(session: Session, run: () => Promise<Result>): Promise<Result> {
  const hint = `Run the same command again; nothing happens twice: ${shellLine(['flywheel', ...session.commandLine])}`;
  try {
    return await run();
  } catch (thrown) {
    const error = asFlywheelError(thrown, session.context.signal);
    if (breaksOff(error)) throw outcomeUnknown(`Unknown outcome: ${error.message}`, hint, { cause: error });
    const isLate = error.code === 'ERR_TIMEOUT' && error.options.hint === undefined;
    throw isLate || error.code === 'ERR_OUTCOME_UNKNOWN' ? error.with({ hint }) : error;
  }
}
