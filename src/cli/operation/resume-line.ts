/** Builds command lines for the same service, to paste into a shell anywhere. */
import type { Settings } from '../../compose/settings.js';
import type { Session } from '../command.js';
import { type Use, usesOf } from '../config/command-uses.js';
import { canAsk } from '../consent.js';
import type { OperationSummary } from '../journal/journal.js';
import { asFlywheelError } from '../report-failure.js';
import { shellLine } from '../shell-line.js';
import { breaksOff, outcomeUnknown } from './verdicts.js';

/** Needs no files or options of the operation: the journal has them. */
export function resumeLine(
  session: Pick<Session, 'settings' | 'context'>,
  { id, kind, command }: Pick<OperationSummary, 'id' | 'kind' | 'command'>,
): string {
  const { settings } = session;
  // Consent given with the command lasts until the operation ends. Without a terminal, approving a batch needs it.
  const isNeeded = kind === 'batch' && !canAsk(session);
  const yes = settings.yes || isNeeded || command.includes('--yes');
  return agreedLine({ ...settings, yes }, 'pending', 'resume', id);
}

export const commandLine = (settings: Settings, ...words: readonly string[]): string =>
  shellLine(['flywheel', ...words, ...runFlags(settings, words).flat()]);

/** Like {@link commandLine}, with `--yes` if this run had it. */
export const agreedLine = (settings: Settings, ...words: readonly string[]): string =>
  `${commandLine(settings, ...words)}${settings.yes ? ' --yes' : ''}`;

/** What the user typed, with the flags of this run that it lacks. */
export function typedLine(settings: Settings, ...typed: readonly string[]): string {
  const isTyped = ([flag]: readonly string[]): boolean =>
    typed.some((word) => word === flag || word.startsWith(`${flag}=`)) ||
    (flag === '--profile' && typed.includes('-p'));
  const flags = runFlags(settings, typed).filter((words) => !isTyped(words));
  return shellLine(['flywheel', ...typed, ...flags.flat()]);
}

/** Flags of this run that the command accepts. With a remote API, commands for the machine of the service get none. */
export function runFlags(settings: Settings, words: readonly string[]): Flags {
  const uses = usesOf(words);
  const isElsewhere = uses.includes('directory') || uses.includes('local');
  if (!uses.includes('service') || words[0] === 'profile' || (isElsewhere && settings.apiUrl.value !== null))
    return [];
  return [...placeFlags(settings, uses), ...chainFlags(settings, uses)];
}

type Flags = readonly (readonly string[])[];

/** Flags that select the same service in any environment. */
function placeFlags(settings: Settings, uses: readonly Use[]): Flags {
  const { apiUrl, apiKeyHeader, profile } = settings;
  if (apiUrl.value === null) return localFlags(settings, uses);
  return [
    // The current profile may change before the command is run.
    ...(profile.value === null ? [] : [['--profile', profile.value]]),
    ...(apiUrl.source === 'profile' ? [] : [['--api-url', apiUrl.value]]),
    ...(apiKeyHeader.source === 'flag' ? [['--api-key-header', apiKeyHeader.value]] : []),
  ];
}

function localFlags(settings: Settings, uses: readonly Use[]): Flags {
  const { apiUrl, dataDir, database, project, profile } = settings;
  const file = database.source === 'flag' ? database.value?.file : null;
  // The profile's limits of approvals hold for the printed command too, but its address does not.
  const limits = profile.value !== null && uses.includes('approval') ? profile.value : null;
  return [
    ...(apiUrl.source === 'flag' || limits !== null ? [['--local']] : []),
    ...(limits === null ? [] : [['--profile', limits]]),
    ...(dataDir.source === 'default' ? [] : [['--data-dir', dataDir.value]]),
    ...(file == null ? [] : [['--database-url-file', file]]),
    ...(project.source === 'flag' && project.value !== null ? [['--project', project.value]] : []),
  ];
}

/** Nodes and pins of this run. Parts of an address that may be a key are `***`. */
function chainFlags({ rpcUrl, rpcQuorum, pinsFile }: Settings, uses: readonly Use[]): Flags {
  const nodes = uses.includes('chain') && rpcUrl.source === 'flag' ? rpcUrl.value : [];
  const isQuorum = nodes.length > 0 && rpcQuorum.source === 'flag';
  return [
    ...nodes.map(({ shown }) => ['--rpc-url', shown]),
    ...(isQuorum ? [['--quorum', String(rpcQuorum.value)]] : []),
    ...(pinsFile !== null && uses.includes('approval') ? [['--pins', pinsFile]] : []),
  ];
}

/** An interrupted run ends with `ERR_OUTCOME_UNKNOWN`, and its hint is the command itself. */
export async function repeatable<Result>(session: Session, run: () => Promise<Result>): Promise<Result> {
  const hint = `Run the same command again; nothing happens twice: ${typedLine(session.settings, ...session.commandLine)}`;
  try {
    return await run();
  } catch (thrown) {
    const error = asFlywheelError(thrown, session.context.signal);
    if (breaksOff(error)) throw outcomeUnknown(`Unknown outcome: ${error.message}`, hint, { cause: error });
    const isLate = error.code === 'ERR_TIMEOUT' && error.options.hint === undefined;
    throw isLate || error.code === 'ERR_OUTCOME_UNKNOWN' ? error.with({ hint }) : error;
  }
}
