import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDiskCheck, MIN_FREE_BYTES } from '../../../src/compose/disk-check.js';

describe('createDiskCheck', () => {
  let directory: string;
  let nowMs: number;
  const clock = { nowMs: () => nowMs };
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'flywheel-disk-'));
    nowMs = 1_700_000_000_000;
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('passes where there is room, and leaves nothing behind', async () => {
    await createDiskCheck({ directory, process: '7-1', clock })();
    expect(readdirSync(directory)).toEqual([]);
  });

  it('tells of a disk that is nearly full', async () => {
    const check = (free: number) =>
      createDiskCheck({ directory, process: '7-1', clock, freeBytes: async () => free })();
    await expect(check(MIN_FREE_BYTES)).resolves.toBeUndefined();
    await expect(check(MIN_FREE_BYTES - 1)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: `The disk of ${directory} is full: 16777215 bytes are free, fewer than 16777216.`,
    });
  });

  it('tells of a directory that takes no file, whatever the file system says of its room', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const check = createDiskCheck({
      directory: file,
      process: '7-1',
      clock,
      freeBytes: async () => MIN_FREE_BYTES,
    });
    await expect(check()).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining(file),
    });
    const missing = createDiskCheck({ directory: join(directory, 'missing'), process: '7-1', clock });
    await expect(missing()).rejects.toThrow();
  });

  it('looks at most once a second, also when the clock goes back', async () => {
    let looks = 0;
    const check = createDiskCheck({
      directory,
      process: '7-1',
      clock,
      freeBytes: async () => {
        looks += 1;
        return MIN_FREE_BYTES;
      },
    });
    await Promise.all([check(), check(), check()]);
    nowMs += 999;
    await check();
    expect(looks).toBe(1);
    nowMs += 1;
    await check();
    expect(looks).toBe(2);
    nowMs -= 3_600_000;
    await check();
    expect(looks).toBe(3);
  });
});
