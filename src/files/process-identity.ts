/** Tells a living process from a dead one that had the same number, so that a journal entry is taken over only from the dead. */
import { readFileSync } from 'node:fs';

/** Place of the start time among the fields after the command name in `/proc/<pid>/stat` (proc_pid_stat(5), field 22). */
const START_TIME_FIELD = 19;

/** Clock ticks from boot to the start of a process; `undefined` for one that is dead, or where the system does not tell. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Dead, and its parent has not taken note of that yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[START_TIME_FIELD];
  } catch {
    return undefined;
  }
}

/** A name for a process that no later process bears. */
export const processIdentity = (pid: number): string => `${pid}-${startTime(pid) ?? 'x'}`;

/**
 * Is the process with this identity still running? Where that cannot be known the answer is no: the entry is then taken
 * over with its key, and the service sees to it that one key acts once.
 */
export function isRunning(identity: string): boolean {
  const [pid, start] = identity.split('-');
  return start !== undefined && start !== 'x' && startTime(Number(pid)) === start;
}
