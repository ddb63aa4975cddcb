/** Reads files that hold secrets: only those that nobody else can read, and no more of them than was asked for. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import type { CliContext } from '../context.js';
import { shellLine } from '../shell-line.js';

/** What finding and reading such a file takes. */
export type PrivateFileContext = Pick<CliContext, 'cwd' | 'home' | 'platform'>;

/** Permission bits of group and others. */
const OTHERS = 0o077;

/** A keypair that cannot be used. */
export const refuseKey = (name: string, reason: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_KEYPAIR_INVALID', `${name}: ${reason}.`, hint === undefined ? {} : { hint });

/** An absolute path; `~/` is the user's home. */
export function keypairPath(context: Pick<PrivateFileContext, 'cwd' | 'home'>, location: string): string {
  if (location.startsWith('~/')) return join(context.home, location.slice(2));
  return isAbsolute(location) ? location : resolve(context.cwd, location);
}

/** Is it a pipe, such as an open descriptor, rather than a file? What cannot be looked at is found out when it is opened. */
export function isStream(context: PrivateFileContext, location: string): boolean {
  try {
    const stats = statSync(keypairPath(context, location));
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    return false;
  }
}

/** What is read, and how it is called where it is refused. */
interface PrivateFile {
  readonly location: string;
  readonly what: string;
  /** More is refused. */
  readonly maxBytes: number;
}

/**
 * Opens a file, makes sure of its permissions and reads it; the permissions are those of the very file that is read.
 * @param only - reads so many bytes from its beginning and leaves the rest where it is.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content.
 */
export function readPrivateFile(
  context: PrivateFileContext,
  { location, what, maxBytes }: PrivateFile,
  only?: number,
): Buffer {
  const path = keypairPath(context, location);
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch (error) {
    throw refuseKey(location, fileProblem(error));
  }
  try {
    const { mode } = fstatSync(handle);
    if (context.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw refuseKey(
        location,
        `other users can read this ${what} file`,
        `Run: ${shellLine(['chmod', '600', path])}`,
      );
    const content = readUpTo(handle, only ?? maxBytes + 1);
    if (content.length <= maxBytes) return content;
    content.fill(0);
    throw refuseKey(location, `it is too large for a ${what} file`);
  } catch (error) {
    throw isFlywheelError(error) ? error : refuseKey(location, fileProblem(error));
  } finally {
    closeSync(handle);
  }
}

/** A pipe gives what it has in pieces, so that its size says nothing. */
function readUpTo(handle: number, count: number): Buffer {
  const bytes = Buffer.alloc(count);
  let length = 0;
  for (let got = 1; got > 0 && length < count; length += got)
    got = readSync(handle, bytes, length, count - length, null);
  return bytes.subarray(0, length);
}
