/** Engines that share a data directory, distinguished by their process and a number within it. */
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import type { Instances } from '../engine/deps.js';
import { isRunning, processIdentity } from '../files/process-identity.js';

const SEPARATOR = '/';
/** Stands in an identity for a start time that the system does not tell. */
const UNKNOWN_START = '-x';

const livingHere = new Set<string>();
let count = 0;

/** @returns this engine's name, and `release`, after which others may take its work over. */
export function createInstances(): Instances & { release(): void } {
  count += 1;
  const host = hostname();
  const id = [host, processIdentity(pid), count].join(SEPARATOR);
  livingHere.add(id);
  return {
    id,
    isAlive: (other) => isAlive(other, host),
    release: () => livingHere.delete(id),
  };
}

function isAlive(id: string, host: string): boolean {
  const [otherHost, identity = ''] = id.split(SEPARATOR);
  // Another machine's processes cannot be asked; its lease decides.
  if (otherHost !== host) return true;
  if (identity === processIdentity(pid)) return livingHere.has(id);
  return identity.endsWith(UNKNOWN_START) ? hasProcess(Number.parseInt(identity, 10)) : isRunning(identity);
}

function hasProcess(otherPid: number): boolean {
  try {
    return kill(otherPid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
