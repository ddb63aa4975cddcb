/** What `flywheel doctor` says of the files of the user: whose they are and who else can use them; and how that is mended. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { NodeAddress, NodeState } from '../../chain/node-address.js';
import type { Source } from '../../compose/settings.js';
import { EXIT, type ExitCode } from '../../errors/exit-codes.js';
import { FlywheelError, wrapUnknown } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import { shellLine } from '../shell-line.js';

/** One thing that was looked at. */
export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly hint?: string;
  /** What is known of an RPC node. */
  readonly rpc?: { readonly url: NodeAddress; readonly source: Source } & NodeState;
  /** Code of the error, where it is not ok. */
  readonly error?: string;
  readonly exit: ExitCode;
}

/** What is not in order. */
export const failed = (name: string, error: FlywheelError): Finding => ({
  name,
  ok: false,
  detail: error.message,
  ...(error.hint === undefined ? {} : { hint: error.hint }),
  error: error.wireCode,
  exit: error.exitCode,
});

/** Looks, and takes what is thrown for what is found. */
export async function check(name: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, detail: await look(), exit: EXIT.done };
  } catch (thrown) {
    return failed(name, wrapUnknown(thrown));
  }
}

const OTHERS = 0o077;
const PERMISSIONS = 0o777;
/** Entries that are looked at in one directory with all below it; a directory that holds more is none of ours. */
const MAX_ENTRIES = 5_000;
/** Findings of one kind that are named. */
const MAX_NAMED = 10;

/** A file or directory that is not as it should be. */
interface Oddity {
  readonly path: string;
  readonly what: string;
  readonly hint: string;
  /** Bits that it should have, where it is the user's and only those are wrong. */
  readonly mode: number | null;
}

/** A file that stands in another place as well may be one that others have to use; its mode is not ours to set. */
const hasOtherNames = (stats: Stats): boolean => stats.isFile() && stats.nlink > 1;

const rightMode = (stats: Stats): number => (stats.isDirectory() ? 0o700 : 0o600);

function oddityOf(path: string, stats: Stats, uid: number): Oddity | undefined {
  const odd = (what: string, hint: string, line: readonly string[], mode: number | null = null): Oddity => ({
    ...{ path, what, mode },
    hint: `${hint}: ${shellLine([...line, path])}${mode === null ? '' : ', or flywheel doctor --repair'}`,
  });
  if (stats.isSymbolicLink())
    return odd(
      'is a symbolic link, which may point to a file of another user',
      'Replace the link with the file, or remove the link',
      ['ls', '-l'],
    );
  if (stats.uid !== uid)
    return odd(`belongs to another user (uid ${stats.uid})`, 'Take ownership', [
      'sudo',
      'chown',
      String(uid),
    ]);
  if ((stats.mode & OTHERS) === 0) return undefined;
  if (hasOtherNames(stats))
    return odd(
      'is accessible to other users and has a hard link elsewhere',
      'Replace the file with a copy, or remove it',
      ['ls', '-li'],
    );
  const mode = rightMode(stats);
  const what = `is accessible to other users (mode ${(stats.mode & PERMISSIONS).toString(8)})`;
  return odd(what, 'Run', ['chmod', mode.toString(8)], mode);
}

/** Everything in a directory and below it, itself first; links are not followed, unless the directory itself was put elsewhere by one. */
function* entriesOf(directory: string): Generator<readonly [string, Stats]> {
  const waiting = [directory];
  for (let seen = 0; seen < MAX_ENTRIES; seen += 1) {
    const path = waiting.shift();
    if (path === undefined) return;
    const look = path === directory ? statSync : lstatSync;
    const stats = look(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    yield [path, stats];
    if (stats.isDirectory()) waiting.push(...readdirSync(path).map((name) => join(path, name)));
  }
}

const odditiesOf = (entries: Iterable<readonly [string, Stats]>): readonly Oddity[] => {
  const { uid } = userInfo();
  return [...entries].flatMap(([path, stats]) => oddityOf(path, stats, uid) ?? []);
};

/** What is found, or what the file system complains of. */
function findings(name: string, path: string, find: () => readonly Finding[]): readonly Finding[] {
  try {
    return find();
  } catch (cause) {
    const error = new FlywheelError('ERR_CONFIG_INVALID', `${path}: ${fileProblem(cause)}.`, { cause });
    return [failed(name, error)];
  }
}

const fine = (name: string, detail: string): Finding => ({ name, ok: true, detail, exit: EXIT.done });

/** One finding for each thing that is not as it should be, and one where all is; none where there is no such directory. */
export const checkFiles = (name: string, directory: string, platform: string): readonly Finding[] =>
  findings(name, directory, () => {
    // Who may use a file is said in another way there.
    const entries = platform === 'win32' ? [] : [...entriesOf(directory)];
    if (entries.length === 0) return [];
    const bad = (text: string, hint: string): Finding =>
      failed(name, new FlywheelError('ERR_CONFIG_INVALID', text, { hint }));
    const odd = odditiesOf(entries);
    if (odd.length === 0) return [fine(name, `${entries.length} in ${directory}, private to you`)];
    const shown = odd.slice(0, MAX_NAMED).map(({ path, what, hint }) => bad(`${path} ${what}.`, hint));
    const more = odd.length - shown.length;
    const rest = `${more} more in ${directory} ${more === 1 ? 'is' : 'are'} not private to you.`;
    return more === 0 ? shown : [...shown, bad(rest, 'Run: flywheel doctor --repair')];
  });

/** Sets the bits of what is still what was looked at: a file or directory of the user's own, and no link. */
function mend({ path }: Oddity, uid: number): boolean {
  const handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(handle);
    if (stats.uid !== uid || hasOtherNames(stats) || !(stats.isFile() || stats.isDirectory())) return false;
    fchmodSync(handle, rightMode(stats));
    return true;
  } finally {
    closeSync(handle);
  }
}

/** Mends the modes of what is the user's own, and says each; what is not is left as it is. */
export function repairModes(directories: readonly string[], platform: string): readonly Finding[] {
  if (platform === 'win32') return [];
  const { uid } = userInfo();
  return directories
    .flatMap((directory) => odditiesOf(entriesOf(directory)))
    .flatMap((odd) =>
      findings('repair', odd.path, () =>
        odd.mode !== null && mend(odd, uid)
          ? [fine('repair', `${odd.path}: mode ${odd.mode.toString(8)} now`)]
          : [],
      ),
    );
}
