/** Reads optional files, detects replaced files, and describes file system errors. */
import { readFileSync, statSync } from 'node:fs';
import type { ErrorCode } from '../errors/codes.js';
import { FlywheelError } from '../errors/flywheel-error.js';

/** @returns `undefined` for a missing file. @throws the system's error for an unreadable one */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/**
 * Remembers the file at a path by inode and device.
 * @returns whether the same file is still there; cheap enough to call before every write
 */
export function watchFile(path: string): () => boolean {
  const first = statSync(path);
  return () => {
    const now = statSync(path, { throwIfNoEntry: false });
    return now !== undefined && now.ino === first.ino && now.dev === first.dev;
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ENOTDIR: 'no such file or directory',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this user is exceeded',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
};

export function fileProblem(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return REASONS[code] ?? `file system error ${code}`;
}

/** Gives a file system error its code and text. @param what - names the file and what failed; the reason follows */
export function onFile<Result>(code: ErrorCode, what: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof FlywheelError) throw cause;
    throw new FlywheelError(code, `${what}: ${fileProblem(cause)}.`, { cause });
  }
}
