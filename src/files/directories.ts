/** The directories that this program keeps things in: how they are made, and the names that more than one part has to know. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The journal of operations. */
export const JOURNAL_FILE = 'journal.db';

/** The record of what has been approved. */
export const APPROVALS_FILE = 'approvals.db';

/** The approvals that nobody named a file for. */
export const approvalDirectory = (directory: string): string => join(directory, 'approvals');

/** The file with the API key that this machine has for a project; one of a data directory has no name. */
export const apiKeyFile = (dataDir: string, project: string | null): string =>
  project === null ? join(dataDir, 'api-key') : join(dataDir, 'api-keys', project);

const OWNER_ONLY = 0o700;

/**
 * Makes a directory that only this user can read, and what is missing above it. One level at a time: asked for all at once, node's `mkdirSync` never returns where a level can be neither found nor made, as
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
