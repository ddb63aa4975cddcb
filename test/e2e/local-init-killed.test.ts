/** `flywheel local init`, killed at each thing by which it leaves a trace, with other commands before the same one ends it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyDirectory, flywheel } from '../support/spawn.js';

/** Every so many points are tried; `KILL_EVERY=1` tries all. */
const EVERY = Number(process.env['KILL_EVERY'] ?? 3);
/** More than there are. */
const MAX_POINTS = 48;
const POINTS = Array.from({ length: Math.floor(MAX_POINTS / EVERY) }, (_, index) => 1 + index * EVERY);
const HOOK = resolve('test/support/kill-points.cjs');

const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"orderId":"K-1"}', '--amount', '1', '--once'];
const PIPELINES = [
  { type: 'PRODUCT_BUY', payload: { orderId: 'K-2' }, actions: [{ action: 'BURN', amount: 5 }] },
];

function place(env: Record<string, string> = {}) {
  const home = emptyDirectory();
  writeFileSync(join(home, 'pipelines.json'), JSON.stringify({ pipelines: PIPELINES }));
  const dataDir = join(home, 'data');
  const run = (words: readonly string[], more: Record<string, string> = env) =>
    flywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir, ...more } }, ...words, '--json');
  /** Each is one operation, however often it is run. */
  const work = async () => [
    await run([...BURN, '--yes']),
    await run(['batch', 'run', 'pipelines.json', '--keypair', join(dataDir, 'owner.json'), '--yes']),
    await run(['local', 'fund', '--to', 'owner', '--sol', '1']),
  ];
  const init = (more: Record<string, string> = {}) => run(['local', 'init'], more);
  return { home, run, work, init };
}

const killedAt = (point: number): Record<string, string> => ({
  NODE_OPTIONS: `--require ${HOOK}`,
  KILL_POINT: String(point),
});

describe('a set-up that is killed', () => {
  it('has fewer points than are tried', async () => {
    const { home, init } = place();
    const countFile = join(home, 'count');
    expect((await init({ ...killedAt(0), KILL_COUNT_FILE: countFile })).exit).toBe(0);
    const points = Number(readFileSync(countFile, 'utf8'));
    expect(points).toBeGreaterThan(20);
    expect(points).toBeLessThan(MAX_POINTS);
  });

  it.each(POINTS)('at point %i is worked with when it is done, and not before', async (point) => {
    const { run, work, init } = place();
    await init(killedAt(point));
    const early = await work();
    const again = await init();
    // Whoever was killed after the last step has done all of it.
    const isDone = again.exit === 2;
    if (isDone) expect(JSON.parse(again.stderr).error).toBe('ERR_LOCAL_ALREADY_EXISTS');
    else expect([again.exit, again.stderr]).toEqual([0, expect.any(String)]);
    for (const { exit, stderr } of early) {
      if (isDone) expect([exit, stderr]).toEqual([0, expect.any(String)]);
      else expect([exit, JSON.parse(stderr).error]).toEqual([2, 'ERR_LOCAL_NOT_FOUND']);
    }
    expect((await work()).map(({ exit }) => exit)).toEqual([0, 0, 0]);
    const { burned, usedToday } = JSON.parse((await run(['local', 'status'])).stdout);
    expect({ burned, usedToday }).toEqual({ burned: '6', usedToday: { burn: '6', airdrop: '0' } });
  });

  it('is told apart from none, and can be wiped', async () => {
    const { run, init } = place();
    const none = JSON.parse((await run(['local', 'status'])).stderr);
    await init(killedAt(15));
    const unfinished = JSON.parse((await run(['local', 'status'])).stderr);
    expect([none, unfinished]).toMatchObject([
      { error: 'ERR_LOCAL_NOT_FOUND', message: expect.stringMatching(/^There is no flywheel in /) },
      {
        error: 'ERR_LOCAL_NOT_FOUND',
        message: expect.stringMatching(/^The set-up of the flywheel in .+ is not done\.$/),
        hint: expect.stringContaining('flywheel local init'),
      },
    ]);
    expect((await run(['local', 'reset', '--yes'])).exit).toBe(0);
    expect(JSON.parse((await run(['local', 'status'])).stderr)).toEqual(none);
    expect((await init()).exit).toBe(0);
  });
});
