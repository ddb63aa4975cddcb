/**
 * Engines that share a store, distinguished by their process and a number within it. That one is dead is concluded only of a
 * process that could be seen if it lived: one of the same boot and the same space of process numbers. Two containers may share
 * host name and process number, and another machine cannot be asked: there the lease decides.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid, platform } from 'node:process';
import type { Instances } from '../engine/deps.js';
import { isRunning, processIdentity } from '../files/process-identity.js';

const SEPARATOR = '/';
/** Stands in an identity for a start time that the system does not tell. */
const UNKNOWN_START = '-x';

const livingHere = new Set<string>();
let count = 0;

/** A boot of a machine, and a space in which a process number means one process. */
export interface ProcessSpace {
  readonly boot: string;
  readonly numbers: string;
}

/** Of this process; where Linux does not tell it, one that nobody shares. Other systems have one space for all. */
function ownSpace(): ProcessSpace {
  if (platform !== 'linux') return { boot: '', numbers: '' };
  try {
    return {
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
      numbers: readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, ''),
    };
  } catch {
    return { boot: randomUUID(), numbers: '' };
  }
}

/** Read once: neither changes for a process. */
let known: ProcessSpace | undefined;

/** @returns this engine's name, and `release`, after which others may take its work over. */
export function createInstances(space?: ProcessSpace): Instances & { release(): void } {
  count += 1;
  known ??= ownSpace();
  const { boot, numbers } = space ?? known;
  const place = [hostname(), boot, numbers].join(' ').trimEnd();
  const id = [place, processIdentity(pid), count].join(SEPARATOR);
  livingHere.add(id);
  return {
    id,
    isAlive: (other) => isAlive(other, place),
    release: () => livingHere.delete(id),
  };
}

function isAlive(id: string, place: string): boolean {
  const [otherPlace, identity = ''] = id.split(SEPARATOR);
  if (otherPlace !== place) return true;
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
