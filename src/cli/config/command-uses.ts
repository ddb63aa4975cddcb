/** What each command works with. Decides which global options it accepts, and which flags of a run its printed line repeats. */
import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** What a command must do for a setting to affect it. */
export type Use =
  /** Prints; every command does. */
  | 'output'
  /** Works with a service, or with data stored about it. */
  | 'service'
  /** Sends requests to a service. */
  | 'request'
  /** Reads a chain or sends to it. */
  | 'chain'
  /** Checks a batch against the pinned project. */
  | 'approval'
  /** Reads a data directory, so a remote API is refused. */
  | 'directory'
  /** Works on the data directory of this machine. A remote API is refused only on the command line. */
  | 'local';

/** Of a command that is not listed. */
const USUAL: readonly Use[] = ['service', 'request', 'chain'];
const APPROVAL: readonly Use[] = [...USUAL, 'approval'];
const DIRECTORY: readonly Use[] = [...USUAL, 'directory'];
const STORE: readonly Use[] = ['service', 'directory'];
const LOCAL: readonly Use[] = [...USUAL, 'local'];
const LEDGER: readonly Use[] = ['service', 'local'];

const USES: ReadonlyMap<string, readonly Use[]> = new Map(
  (
    [
      [[], 'completion', 'demo', 'help', 'proof hash', 'schema'],
      [['service'], 'profile'],
      [APPROVAL, 'batch approve', 'batch cancel', 'batch execute', 'batch inspect', 'batch run'],
      [APPROVAL, 'batch verify', 'doctor', 'pending', 'profile add', 'profile pin', 'proof verify', 'whoami'],
      [DIRECTORY, 'audit', 'caps', 'db', 'keys', 'register', 'vault'],
      [STORE, 'db copy', 'db migrate', 'db status'],
      [LOCAL, 'local', 'serve'],
      [LEDGER, 'local export-owner', 'local init', 'local reset', 'local rpc'],
    ] as const
  ).flatMap(([uses, ...commands]) => commands.map((command) => [command, uses] as const)),
);

/** @param words - of a command, without `flywheel`; arguments may follow */
export const usesOf = (words: readonly string[]): readonly Use[] =>
  USES.get(words.slice(0, 2).join(' ')) ?? USES.get(words[0] ?? '') ?? USUAL;

/** `flywheel keys list`. */
export function commandPath(command: CommandUnknownOpts): string {
  const { parent } = command;
  return parent === null ? command.name() : `${commandPath(parent)} ${command.name()}`;
}
