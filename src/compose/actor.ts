/** Who administers from this process: the user of the machine, as the audit log names them. */
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

/** `user@host pid N`. */
export const processActor = (): string => `${userName()}@${hostname()} pid ${pid}`;
