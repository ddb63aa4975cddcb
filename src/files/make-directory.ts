/** Makes a directory that only this user can read, and what is missing above it. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const OWNER_ONLY = 0o700;

/**
 * One level at a time: asked for all at once, node's `mkdirSync` never returns where a level can be neither found nor made, as
 * below `/proc`.
 *
 * @throws the system's error (`EACCES`, `ENOSPC`, `EROFS`, `ENOTDIR`, …).
 */
export function makeDirectory(path: string): void {
  const isThere = (): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: OWNER_ONLY });
  } catch (error) {
    // Another process may have been faster.
    if (!isThere()) throw error;
  }
}
