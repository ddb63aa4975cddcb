/** Notices that an open file has been removed, or another put in its place. */
import { statSync } from 'node:fs';

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
