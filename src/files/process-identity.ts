/** Names of this process; and a running process told from a dead one with the same number, whose journal entries are taken over. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { getuid, pid as ownPid } from 'node:process';

/** Index of `starttime` after the command name in `/proc/<pid>/stat` (proc_pid_stat(5), field 22). */
const START_TIME_FIELD = 19;

/** Clock ticks from boot to the process's start; `undefined` if it is dead, or without `/proc`. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie: dead, but not yet reaped by its parent.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[START_TIME_FIELD];
  } catch {
    return undefined;
  }
}

/** Boot and PID namespace: containers and machines over one home directory count their processes each for themselves. */
function numberSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
    return `${boot}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return 'x';
  }
}

/** Unique across processes that reuse a number. */
export const processIdentity = (pid: number): string => `${pid}-${startTime(pid) ?? 'x'}-${numberSpace()}`;

/** `undefined`: unknown here, so only the lease of the process says. */
export function isRunning(identity: string): boolean | undefined {
  const [pid, start, space] = identity.split('-');
  if (start === undefined || start === 'x' || space !== numberSpace()) return undefined;
  return startTime(Number(pid)) === start;
}

/** A user id may have no name, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${getuid?.() ?? 'unknown'}`;
  }
}

/** `host/PID`, for leases and logs. */
export const processName = (): string => `${hostname()}/${ownPid}`;

/** `user@host pid PID`, for the audit log. */
export const processActor = (): string => `${userName()}@${hostname()} pid ${ownPid}`;
