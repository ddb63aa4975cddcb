/**
 * Writes a file so that a reader sees the old one or the new one, never half of one, also after a power cut. What a failure
 * means is for the caller to say: each function takes the code of its error.
 */
import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { makeDirectory } from './directories.js';
import { fileProblem } from './read-file.js';

interface WriteOptions {
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

/**
 * Makes a directory that only the user can read; one that is there is left as it is.
 * @throws the error, naming the directory and the reason.
 */
export function makePrivateDirectory(path: string, error: ErrorCode): void {
  try {
    makeDirectory(path);
  } catch (cause) {
    throw new FlywheelError(error, `${path}: cannot be created: ${fileProblem(cause)}.`, { cause });
  }
}

/** What the system itself has there: to take its place would take it from every program. */
const OF_THE_SYSTEM = /^\/(?:dev\/(?!shm\/)|proc\/)/;

/** Why nothing may take the place of what is there. */
function occupant(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return 'it is a directory';
  if (found !== undefined && !found.isFile()) return 'it is a device, a pipe or a socket';
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && OF_THE_SYSTEM.test(readlinkSync(path)) ? 'it is a device, a pipe or a socket' : undefined;
}

function checkOccupant(path: string, error: ErrorCode): void {
  let reason: string | undefined;
  try {
    reason = occupant(path);
  } catch (cause) {
    throw new FlywheelError(error, `${path}: cannot be written: ${fileProblem(cause)}.`, { cause });
  }
  if (reason !== undefined) throw new FlywheelError(error, `${path}: cannot be written: ${reason}.`);
}

/**
 * Writes a whole file atomically: temporary file, fsync, rename.
 * @throws the error, naming the file and the reason.
 */
export function writeFileAtomic(
  path: string,
  text: string | Uint8Array,
  error: ErrorCode,
  options: WriteOptions = {},
): void {
  checkOccupant(path, error);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    writeTemporary(temporary, text, options.mode ?? 0o644);
    if (options.exclusive === true) linkSync(temporary, path);
    else renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (cause) {
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists ? 'the file already exists' : `cannot be written: ${fileProblem(cause)}`;
    throw new FlywheelError(error, `${path}: ${reason}.`, { cause });
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Moves a file within its file system, over one that is there, for good. @throws the system's error */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncDirectory(dirname(to));
}

/**
 * Makes sure that a file can be written before work is done whose result it is to hold.
 * @throws the error, naming the file and the reason.
 */
export function checkWritable(path: string, error: ErrorCode): void {
  try {
    checkOccupant(path, error);
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    if (cause instanceof FlywheelError) throw cause;
    throw new FlywheelError(error, `${path}: cannot be written: ${fileProblem(cause)}.`, { cause });
  }
}
