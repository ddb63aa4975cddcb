/** Reads a file that need not be there, notices when another takes its place, and says in words what is wrong with one. */
import { readFileSync, statSync } from 'node:fs';

/** The text of a file, or `undefined` when there is none. @throws the system's error for one that cannot be read. */
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
 * Notes which file is at a path now.
 * @returns whether that very file is still there; cheap enough to ask before every write.
 */
export function watchFile(path: string): () => boolean {
  const first = statSync(path);
  return () => {
    const now = statSync(path, { throwIfNoEntry: false });
    return now !== undefined && now.ino === first.ino && now.dev === first.dev;
  };
}

/** What the file system complains of, in words that fit into a sentence. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
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

/** A file's problem in words, from the error of the file system. */
export function fileProblem(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return REASONS[code] ?? `file system error ${code}`;
}
