/** What the file system complains of, in words that fit into a sentence. */

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'it may not be read (permission denied)',
  EPERM: 'it may not be read (permission denied)',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
};

/** A file's problem in words, from the error of the file system. */
export function fileProblem(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  return REASONS[code] ?? `the file system says ${code}`;
}
