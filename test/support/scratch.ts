/** Puts the some thousand directories of a test run into one temporary directory. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Bytes; far more than a run needs. */
const ROOM = 4 * 2 ** 30;

/** Memory is fast, and no test cuts the power, so nothing needs to reach a disk. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ROOM) return false;
    const directory = mkdtempSync(join(MEMORY, 'flywheel-tests-'));
    try {
      const program = join(directory, 'program');
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
      // Some mounts forbid execution.
      return spawnSync(program).status === 0;
    } finally {
      rmSync(directory, { recursive: true });
    }
  } catch {
    return false;
  }
}

/** Sets a temporary directory for this process and its children, which is removed at exit. */
export function keepScratchTogether(): void {
  // Both paths have the same length, so that messages with a path wrap alike.
  const path = mkdtempSync(
    hasRoomInMemory() ? join(MEMORY, 'flywheel-t-') : join(tmpdir(), 'flywheel-tests-'),
  );
  // PostgreSQL runs as another user and has to traverse this directory.
  chmodSync(path, 0o711);
  process.env['TMPDIR'] = path;
  process.on('exit', () => rmSync(path, { recursive: true, force: true, maxRetries: 3 }));
}
