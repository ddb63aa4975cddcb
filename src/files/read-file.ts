/** Reads a file that need not be there. */
import { readFileSync } from 'node:fs';

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
