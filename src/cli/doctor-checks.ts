/** Checks of `flywheel doctor` on the user's files (owner, mode, links), and on each RPC node by itself. */
import { accessSync, constants, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type NodeAddress, type NodeReport, type NodeState, requireQuorum } from '../chain/node-address.js';
import type { Settings, Source } from '../compose/settings.js';
import { EXIT, type ExitCode } from '../errors/exit-codes.js';
import { configError, FlywheelError, wrapUnknown } from '../errors/flywheel-error.js';
import { fileProblem } from '../files/read-file.js';
import type { Session } from './command.js';
import { shellLine } from './shell-line.js';

export interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly hint?: string;
  readonly rpc?: { readonly url: NodeAddress; readonly source: Source } & NodeState;
  readonly error?: string;
  readonly exit: ExitCode;
}

const failed = (name: string, error: FlywheelError): Finding => ({
  name,
  ok: false,
  detail: error.message,
  ...(error.hint === undefined ? {} : { hint: error.hint }),
  error: error.wireCode,
  exit: error.exitCode,
});

/** An error thrown by `look` becomes a failed finding. */
export async function check(name: string, look: () => string | Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, detail: await look(), exit: EXIT.done };
  } catch (thrown) {
    return failed(name, wrapUnknown(thrown));
  }
}

const OTHERS = 0o077;
const PERMISSIONS = 0o777;
/** Entries checked in and below one directory; flywheel's own directories have fewer. */
const MAX_ENTRIES = 5_000;
const MAX_NAMED = 10;

interface Oddity {
  readonly path: string;
  readonly what: string;
  readonly hint: string;
}

function oddityOf(path: string, stats: Stats, uid: number): Oddity | undefined {
  const odd = (what: string, hint: string, ...line: readonly string[]): Oddity => ({
    ...{ path, what, hint: `${hint}: ${shellLine([...line, path])}` },
  });
  if (stats.isSymbolicLink())
    return odd(
      'is a symbolic link, which may point to a file of another user',
      'Replace the link with the file, or remove the link',
      ...['ls', '-l'],
    );
  if (stats.uid !== uid)
    return odd(
      `belongs to another user (uid ${stats.uid})`,
      'Take ownership',
      ...['sudo', 'chown', String(uid)],
    );
  if ((stats.mode & OTHERS) === 0) return undefined;
  const what = `is accessible to other users (mode ${(stats.mode & PERMISSIONS).toString(8)})`;
  return odd(what, 'Run', 'chmod', stats.isDirectory() ? '700' : '600');
}

/** The directory, then everything below it. Links are not followed, except the directory itself. */
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

/** An error of the file system becomes a failed finding. */
function findings(name: string, path: string, find: () => readonly Finding[]): readonly Finding[] {
  try {
    return find();
  } catch (cause) {
    const { path: at = path } = cause as NodeJS.ErrnoException;
    const error = new FlywheelError('ERR_CONFIG_INVALID', `${at}: ${fileProblem(cause)}.`, { cause });
    return [failed(name, error)];
  }
}

const fine = (name: string, detail: string): Finding => ({ name, ok: true, detail, exit: EXIT.done });

/** One finding per wrong file, one if all files are right. A missing directory is no problem: flywheel creates it. */
export const checkFiles = (name: string, directory: string, platform: string): readonly Finding[] =>
  findings(name, directory, () => {
    const entries = [...entriesOf(directory)];
    if (entries.length === 0) return [fine(name, `${directory} (not created yet)`)];
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    // Windows has no such modes.
    if (platform === 'win32') return [fine(name, directory)];
    const bad = (text: string, hint: string): Finding =>
      failed(name, new FlywheelError('ERR_CONFIG_INVALID', text, { hint }));
    const odd = odditiesOf(entries);
    const count = entries.length < MAX_ENTRIES ? `${entries.length}` : `the first ${MAX_ENTRIES}`;
    if (odd.length === 0) return [fine(name, `${count} in ${directory}, private to you`)];
    const shown = odd.slice(0, MAX_NAMED).map(({ path, what, hint }) => bad(`${path} ${what}.`, hint));
    const more = odd.length - shown.length;
    const rest = `${more} more in ${directory} ${more === 1 ? 'is' : 'are'} not private to you.`;
    return more === 0 ? shown : [...shown, bad(rest, `Run: ${shellLine(['chmod', '-R', 'go=', directory])}`)];
  });

const RPC = 'rpc';
/** The time of a chain is an agreement of its validators, and may be wrong by this much. */
const MAX_CLOCK_SKEW_MS = 60_000;

function findingOf({ address, state, problem }: NodeReport, source: Source): Finding {
  const known = state === null ? {} : { rpc: { url: address, source, ...state } };
  if (problem !== null) return { ...failed(RPC, problem), ...known };
  if (state === null) return fine(RPC, address.shown);
  const { cluster, genesisHash, slot, slotsBehind, version, latencyMs } = state;
  const detail = [
    `${address.shown} (${source})`,
    cluster ?? `a cluster of its own, genesis ${genesisHash}`,
    `slot ${slot}${slotsBehind === 0 ? '' : `, ${slotsBehind} behind`}`,
    `version ${version}`,
    'Squads program found',
    `${latencyMs} ms`,
  ];
  return { ...fine(RPC, detail.join(', ')), ...known };
}

function clockText(clockAheadMs: number, { cluster }: NodeState): string {
  const seconds = Math.round(clockAheadMs / 1_000);
  if (Math.abs(clockAheadMs) <= MAX_CLOCK_SKEW_MS) return `agrees with the chain (${seconds} s ahead)`;
  // A private cluster may produce blocks only when there are transactions.
  if (cluster === null && seconds > 0)
    return `${seconds} s ahead of the last block: the cluster produces no blocks`;
  const apart = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
  throw configError(
    `The clock of this machine is ${apart} the time of the chain.`,
    'Synchronize the clock: `timedatectl set-ntp true`. If the clock is right, the cluster produces no blocks.',
  );
}

/** Compares this clock with the newest time that a node reports. @returns nothing if no node reports a time */
async function checkClock(reports: readonly NodeReport[]): Promise<readonly Finding[]> {
  const [furthest] = reports
    .flatMap(({ state }) => (state?.clockAheadMs == null ? [] : [[state.clockAheadMs, state] as const]))
    .sort(([left], [right]) => left - right);
  return furthest === undefined ? [] : [await check('chain clock', () => clockText(...furthest))];
}

/** Does a remote API, a database, or a data directory on a cluster use these nodes? The embedded ledger uses none. */
async function areUsed({ context }: Session, settings: Settings): Promise<boolean> {
  const { apiUrl, rpcUrl, database } = settings;
  if (apiUrl.value !== null || database.value !== null) return true;
  if (rpcUrl.source !== 'environment') return rpcUrl.source === 'flag' || rpcUrl.source === 'data directory';
  return (await context.dataChain(settings))?.kind === 'cluster';
}

/** One finding per node, one for the clock, and one for a quorum above 1; none if no chain is read through the nodes. */
export async function checkRpc(session: Session): Promise<readonly Finding[]> {
  const { context } = session;
  const settings = await context.effectiveSettings(session.settings);
  const { rpcUrl, rpcQuorum } = settings;
  if (rpcUrl.value.length === 0 && rpcQuorum.value === 1) return [];
  if (!(await areUsed(session, settings))) return [];
  const quorum =
    rpcQuorum.value === 1
      ? []
      : [
          await check('rpc quorum', () => {
            requireQuorum(rpcUrl.value, rpcQuorum);
            return `${rpcQuorum.value} of ${rpcUrl.value.length} must agree`;
          }),
        ];
  const reports = await context.checkRpc(settings);
  return [
    ...reports.map((report) => findingOf(report, rpcUrl.source)),
    ...quorum,
    ...(await checkClock(reports)),
  ];
}
