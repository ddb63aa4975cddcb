/** Where all that a run of the tests makes lies, which is some thousands of directories. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives this process, and those that it starts, a directory for temporary files that is gone with it. */
export function keepScratchTogether(): void {
  const path = mkdtempSync(join(tmpdir(), 'flywheel-tests-'));
  // PostgreSQL does not run as root: it goes through here as another user.
  chmodSync(path, 0o711);
  process.env['TMPDIR'] = path;
  process.on('exit', () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
}
