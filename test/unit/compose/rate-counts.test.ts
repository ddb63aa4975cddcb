import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRateCounts } from '../../../src/compose/rate-counts.js';
import { Random } from '../../fuzz/random.js';

const START_MS = 1_700_000_000_000;

interface Database {
  exec(sql: string): void;
  prepare(sql: string): { all(): { key: string }[] };
  close(): void;
}

describe('openRateCounts', () => {
  let directory: string;
  let path: string;
  let nowMs: number;
  const clock = { nowMs: () => nowMs };
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'flywheel-counts-'));
    path = join(directory, 'rate-counts.db');
    nowMs = START_MS;
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });
  const raw = (): Database =>
    new (createRequire(import.meta.url)('libsql') as new (path: string) => Database)(path);
  const take = (key: string) => ({ key, intervalUs: 100_000, periodUs: 1_000_000 });

  it('keeps one row a key, and none that means nothing any more', async () => {
    const counts = await openRateCounts(path, clock);
    for (let turn = 0; turn < 500; turn += 1) {
      nowMs += 1_000;
      counts.take([take('a'), take('a'), take(`once-${turn}`)]);
    }
    for (let turn = 0; turn < 500; turn += 1) {
      nowMs += 1_000;
      counts.take([take('a')]);
    }
    counts.close();
    const database = raw();
    expect(
      database
        .prepare('select key from arrivals')
        .all()
        .map(({ key }) => key),
    ).toEqual(['a']);
    database.close();
  });

  it('counts the requests of one turn as if they had come one by one', async () => {
    const [together, oneByOne] = [
      await openRateCounts(path, clock),
      await openRateCounts(join(directory, 'other.db'), clock),
    ];
    const random = new Random(9);
    for (let turn = 0; turn < 200; turn += 1) {
      // Now and then the clock goes back.
      nowMs += random.oneIn(10) ? -random.below(5_000) : random.below(400);
      const requests = Array.from({ length: random.below(16) }, () => take(random.pick(['a', 'b', 'c'])));
      expect(together.take(requests)).toEqual(requests.flatMap((request) => oneByOne.take([request])));
    }
    together.close();
    oneByOne.close();
  });

  it('keeps no key out for longer than its limit after a restart two days back', async () => {
    const before = await openRateCounts(path, clock);
    before.take(Array.from({ length: 10 }, () => take('a')));
    before.close();
    nowMs -= 2 * 86_400_000;
    const counts = await openRateCounts(path, clock);
    expect(counts.take([take('a')])).toEqual([{ allowed: false, wholeAfterUs: 1_000_000 }]);
    nowMs += 100;
    expect(counts.take([take('a')])).toEqual([{ allowed: true, wholeAfterUs: 1_000_000 }]);
    counts.close();
  });

  it('is for this user only', async () => {
    (await openRateCounts(path, clock)).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('takes over a file of the time when limits had windows', async () => {
    const database = raw();
    database.exec('create table rate_counts (key text primary key, points integer, expires_at_ms integer)');
    database.exec("insert into rate_counts values ('a', 10, 99999999999999)");
    database.close();
    const counts = await openRateCounts(path, clock);
    expect(counts.take([take('a')])).toEqual([{ allowed: true, wholeAfterUs: 100_000 }]);
    counts.close();
  });

  it('says so when it cannot be opened', async () => {
    const unavailable = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining('rate-counts.db') };
    await expect(openRateCounts(join(directory, 'missing', 'rate-counts.db'), clock)).rejects.toMatchObject(
      unavailable,
    );
    writeFileSync(path, 'this is no database, and long enough to look like one'.repeat(100));
    await expect(openRateCounts(path, clock)).rejects.toMatchObject(unavailable);
  });
});
