/** Writes a file so that a reader sees the old one or the new one, never half of one, also after a power cut. */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { makeDirectory } from '../../files/make-directory.js';
import { fileProblem } from './read-input.js';

export interface WriteOptions {
  /** Permission bits; @default 0o644 */
  readonly mode?: number;
  /** Refuse to replace a file that is there. */
  readonly exclusive?: boolean;
}

/** Makes the names in a directory durable. Not every platform can open a directory; there the rename has to do. */
function syncDirectory(directory: string): void {
  let handle: number;
  try {
    handle = openSync(directory, 'r');
  } catch {
    return;
  }
  try {
    fsyncSync(handle);
  } catch {
    // As above.
  } finally {
    closeSync(handle);
  }
}

function writeTemporary(path: string, text: string | Uint8Array, mode: number): void {
  const handle = openSync(path, 'wx', mode);
  try {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes a directory that only the user can read; one that is there is left as it is. */
export function makePrivateDirectory(path: string): void {
  try {
    makeDirectory(path);
  } catch (error) {
    throw new FlywheelError('ERR_CONFIG_INVALID', `${path}: cannot be made: ${fileProblem(error)}.`, {
      cause: error,
    });
  }
}

/**
 * Writes a whole file atomically: temporary file, fsync, rename.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason.
 */
export function writeFileAtomic(path: string, text: string | Uint8Array, options: WriteOptions = {}): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeTemporary(temporary, text, options.mode ?? 0o644);
    if (options.exclusive === true) linkSync(temporary, path);
    else renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists
      ? 'there is a file of that name already'
      : `cannot be written: ${fileProblem(error)}`;
    throw new FlywheelError('ERR_INPUT_INVALID', `${path}: ${reason}.`, { cause: error });
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Makes sure that a file can be written before work is done whose result it is to hold.
 * @throws `ERR_INPUT_INVALID` naming the file and the reason.
 */
export function checkWritable(path: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new FlywheelError('ERR_INPUT_INVALID', `${path}: cannot be written: it is a directory.`);
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    if (error instanceof FlywheelError) throw error;
    throw new FlywheelError('ERR_INPUT_INVALID', `${path}: cannot be written: ${fileProblem(error)}.`, {
      cause: error,
    });
  }
}
