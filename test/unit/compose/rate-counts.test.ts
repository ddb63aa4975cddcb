import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRateCounts } from '../../../src/compose/rate-counts.js';

describe('openRateCounts', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'flywheel-counts-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('gives back what was saved and has not ended, after opening again', async () => {
    const path = join(directory, 'rate-limits.db');
    const before = await openRateCounts(path);
    before.save([{ key: 'a', points: 1, expiresAtMs: 5_000 }], 0);
    before.save(
      [
        { key: 'a', points: 3, expiresAtMs: 5_000 },
        { key: 'b', points: 1, expiresAtMs: 900 },
      ],
      0,
    );
    before.close();
    const after = await openRateCounts(path);
    expect(after.load(1_000).map(({ key, points, expiresAtMs }) => ({ key, points, expiresAtMs }))).toEqual([
      { key: 'a', points: 3, expiresAtMs: 5_000 },
    ]);
    after.close();
  });

  it('is for this user only', async () => {
    const path = join(directory, 'rate-limits.db');
    (await openRateCounts(path)).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('says so when it cannot be opened', async () => {
    await expect(openRateCounts(join(directory, 'missing', 'x.db'))).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    });
  });
});
