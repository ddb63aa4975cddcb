/** Names of this process, for leases, logs and records. */
import { hostname, userInfo } from 'node:os';
import { getuid, pid as ownPid } from 'node:process';

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
