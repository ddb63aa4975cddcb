/**
 * Writes files atomically and durably: a reader sees the old or the new content, also after a power cut. Each function takes the
 * code of its error from the caller.
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
import { fileProblem, onFile } from './read-file.js';

interface WriteOptions {
  /** Permission bits. @default 0o644 */
  readonly mode?: number;
  readonly exclusive?: boolean;
}

/** Makes renames in a directory durable. Some platforms cannot open a directory; there the rename alone must do. */
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
    // Some file systems cannot sync a directory.
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

/** Creates a directory with mode 0700; an existing one stays unchanged. @throws `error`, naming the directory and the reason */
export const makePrivateDirectory = (path: string, error: ErrorCode): void =>
  onFile(error, `${path}: cannot be created`, () => makeDirectory(path));

/** Replacing a link such as /dev/stdout would break it for every program. */
const OF_THE_SYSTEM = /^\/(?:dev\/(?!shm\/)|proc\/)/;

/** @returns why the existing entry must not be replaced, or `undefined` */
function occupant(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return 'it is a directory';
  if (found !== undefined && !found.isFile()) return 'it is a device, a pipe or a socket';
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && OF_THE_SYSTEM.test(readlinkSync(path)) ? 'it is a device, a pipe or a socket' : undefined;
}

function checkOccupant(path: string, error: ErrorCode): void {
  const reason = onFile(error, `${path}: cannot be written`, () => occupant(path));
  if (reason !== undefined) throw new FlywheelError(error, `${path}: cannot be written: ${reason}.`);
}

/** Writes a temporary file, syncs it, renames it. @throws `error`, naming the file and the reason */
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

/** Moves a file durably within its file system and replaces an existing one. @throws the system's error */
export function moveFile(from: string, to: string): void {
  renameSync(from, to);
  syncDirectory(dirname(to));
}

/**
 * Checks that a file can be written, before the work whose result goes there.
 * @throws `error`, naming the file and the reason
 */
export function checkWritable(path: string, error: ErrorCode): void {
  checkOccupant(path, error);
  const directory = dirname(path);
  onFile(error, `${path}: cannot be written to ${directory}`, () => accessSync(directory, constants.W_OK));
}
