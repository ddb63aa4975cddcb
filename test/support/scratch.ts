/** Where all that a run of the tests makes lies, which is some thousands of directories. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Much more than a run makes. */
const ROOM = 4 * 2 ** 30;

/** No test cuts the power: what waits for a disk to have all written waits for nothing. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM) return false;
    const directory = mkdtempSync(join(MEMORY, 'flywheel-tests-'));
    try {
      const program = join(directory, 'program');
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
      // Some places forbid to run what lies there.
      return spawnSync(program).status === 0;
    } finally {
      rmSync(directory, { recursive: true });
    }
  } catch {
    return false;
  }
}

/** Gives this process, and those that it starts, a directory for temporary files that is gone with it. */
export function keepScratchTogether(): void {
  // Both are as long, so that what holds a path wraps alike.
  const path = mkdtempSync(
    hasRoomInMemory() ? join(MEMORY, 'flywheel-t-') : join(tmpdir(), 'flywheel-tests-'),
  );
  // PostgreSQL does not run as root: it goes through here as another user.
  chmodSync(path, 0o711);
  process.env['TMPDIR'] = path;
  process.on('exit', () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
}
