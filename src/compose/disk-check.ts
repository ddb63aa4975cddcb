/** Whether the disk of a data directory still takes what the next burn writes. */
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlywheelError } from '../errors/flywheel-error.js';
import { translateSqliteError } from '../files/sqlite-errors.js';
import type { Clock } from '../values/time.js';
import { PRIVATE_FILE_MODE } from './local-config.js';

/** With less than this, store and ledger may be refused in the middle of a request. */
export const MIN_FREE_BYTES = 16 * 1_024 * 1_024;
/** Asking again within this time gets the same answer. */
const KEPT_MS = 1_000;
const PROBE_BYTES = 4_096;

export interface DiskCheckDeps {
  readonly directory: string;
  /** Tells the probes of several processes apart. */
  readonly process: string;
  readonly clock: Clock;
  /** Bytes that this user may still write. @default asks the file system */
  readonly freeBytes?: (directory: string) => Promise<number>;
}

async function askFileSystem(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/** A quota, or a file system that has become read-only, shows only when something is written. */
async function writeProbe(path: string): Promise<void> {
  try {
    await writeFile(path, Buffer.alloc(PROBE_BYTES), { mode: PRIVATE_FILE_MODE });
  } finally {
    await rm(path, { force: true });
  }
}

/** @returns a check that rejects with `ERR_STORE_UNAVAILABLE`, naming the directory and the reason. */
export function createDiskCheck(deps: DiskCheckDeps): () => Promise<void> {
  const { directory, process, clock, freeBytes = askFileSystem } = deps;
  const check = async (): Promise<void> => {
    try {
      const free = await freeBytes(directory);
      if (free < MIN_FREE_BYTES) {
        throw new FlywheelError(
          'ERR_STORE_UNAVAILABLE',
          `The disk of ${directory} is full: ${free} bytes are free, fewer than ${MIN_FREE_BYTES}.`,
          { hint: 'Free space on the disk; what was written before is intact.' },
        );
      }
      await writeProbe(join(directory, `.probe-${process}`));
    } catch (error) {
      throw translateSqliteError({ path: directory, noun: 'data directory' }, error);
    }
  };
  let last: { readonly atMs: number; readonly outcome: Promise<void> } | undefined;
  return () => {
    const nowMs = clock.nowMs();
    const age = last === undefined ? Number.POSITIVE_INFINITY : nowMs - last.atMs;
    if (last === undefined || age < 0 || age >= KEPT_MS) last = { atMs: nowMs, outcome: check() };
    return last.outcome;
  };
}
