/** The names of this process: who administers from it, and who holds leases. */
import { hostname, userInfo } from 'node:os';
import { getuid, pid } from 'node:process';

/** A user need not have a name, as in a container. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${getuid?.() ?? 'unknown'}`;
  }
}

/** `host/N`: the process, as leases and logs name it. */
export const processName = (): string => `${hostname()}/${pid}`;

/** `user@host pid N`: the user of the machine, as the audit log names them. */
export const processActor = (): string => `${userName()}@${hostname()} pid ${pid}`;
