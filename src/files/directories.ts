/** Directories and file names that several modules share. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const JOURNAL_FILE = 'journal.db';

/** Approvals written without a file name. */
export const approvalDirectory = (directory: string): string => join(directory, 'approvals');

/** File of a project's API key on this machine. A data directory's project has no name. */
export const apiKeyFile = (dataDir: string, project: string | null): string =>
  project === null ? join(dataDir, 'api-key') : join(dataDir, 'api-keys', project);

/** Keypair of the owner of an embedded project that made its own. */
export const ownerFile = (dataDir: string): string => join(dataDir, 'owner.json');

const OWNER_ONLY = 0o700;

/**
 * Creates a directory and its missing parents with mode 0700. Not recursive in one call: node's `mkdirSync` with `recursive`
 * never returns where a level can be neither found nor created, as below `/proc`.
 * @throws the system's error (`EACCES`, `ENOSPC`, `EROFS`, `ENOTDIR`, …)
 */
export function makeDirectory(path: string): void {
  const isThere = (): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: OWNER_ONLY });
  } catch (error) {
    // Another process may have created it.
    if (!isThere()) throw error;
  }
}
