/** Tells a running process from a dead one with the same number, so that journal entries are taken over only from dead processes. */
import { readFileSync } from 'node:fs';

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

/** Unique across processes that reuse a number. */
export const processIdentity = (pid: number): string => `${pid}-${startTime(pid) ?? 'x'}`;

/**
 * `false` if the state is unknown: the entry is then taken over with its idempotency key, and the service runs a key at
 * most once.
 */
export function isRunning(identity: string): boolean {
  const [pid, start] = identity.split('-');
  return start !== undefined && start !== 'x' && startTime(Number(pid)) === start;
}
