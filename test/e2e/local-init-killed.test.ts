/** Commands that are killed at one of their writes: `local init`, before and after which others run, and `profile add`. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultEnvironment } from '../support/faults.js';
import { flywheelHere } from '../support/flywheel-here.js';
import { itLong, sampleOf } from '../support/long.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

/** Points that every check tries; LONG=1 tries all. */
const SAMPLES = 2;

const BURN = ['burn', '--type', 'PRODUCT_BUY', '--proof', '{"orderId":"K-1"}', '--amount', '1', '--once'];
const PIPELINES = [
  { type: 'PRODUCT_BUY', payload: { orderId: 'K-2' }, actions: [{ action: 'BURN', amount: 5 }] },
];

function place(env: Record<string, string> = {}) {
  const home = emptyDirectory();
  writeFileSync(join(home, 'pipelines.json'), JSON.stringify({ pipelines: PIPELINES }));
  const dataDir = join(home, 'data');
  const run = (words: readonly string[], more: Record<string, string> = env) =>
    flywheelHere({ home, env: { FLYWHEEL_DATA_DIR: dataDir, ...more } }, ...words, '--json');
  /** Each of these is one operation however often it runs. */
  const commands = [
    [...BURN, '--yes'],
    ['batch', 'run', 'pipelines.json', '--keypair', join(dataDir, 'owner.json'), '--yes'],
    ['local', 'fund', '--to', 'owner', '--sol', '1'],
  ];
  const init = (more: Record<string, string> = {}) => run(['local', 'init'], more);
  return { home, dataDir, run, commands, init };
}

const killedAt = (point: number): Record<string, string> =>
  faultEnvironment({ signal: 'SIGKILL', traces: true, point }, '');

describe('a profile whose address and key are replaced', () => {
  it('never has the old key beside the new address, however early it is killed', async () => {
    const [old, now] = ['http://127.0.0.1:9', 'http://127.0.0.2:9'];
    const add = (home: string, url: string, key: string, env: Record<string, string> = {}) =>
      flywheelHere(
        { home, stdin: key, env },
        ...['profile', 'add', 'works', '--update', '--api-url', url, '--api-key-stdin', '--json'],
      );
    // Each of its three files takes its name between two points.
    for (const [point, left] of [
      [3, 'old address, no key'],
      [5, 'new address, no key'],
      [7, 'new address, new-key'],
    ] as const) {
      const home = emptyDirectory();
      const read = (name: string) => JSON.parse(readFileSync(join(home, '.config/flywheel', name), 'utf8'));
      expect((await add(home, old, 'old-key')).exit).toBe(0);
      expect([point, (await add(home, now, 'new-key', killedAt(point))).signal]).toEqual([point, 'SIGKILL']);
      const { apiUrl } = read('profiles.json').profiles.works;
      const key = read('api-keys.json').works ?? 'no key';
      expect([point, `${apiUrl === old ? 'old' : 'new'} address, ${key}`]).toEqual([point, left]);
    }
  });
});

describe('a set-up that is killed', () => {
  it('is worked with when it is done, and not before', async () => {
    const counting = place();
    const countFile = join(counting.home, 'count');
    expect((await counting.init({ ...killedAt(0), FAULT_COUNT_FILE: countFile })).exit).toBe(0);
    const count = Number(readFileSync(countFile, 'utf8'));
    expect(count).toBeGreaterThan(20);
    const points = Array.from({ length: count }, (_, index) => index + 1);
    for (const [index, point] of sampleOf(points, SAMPLES).entries()) {
      const { run, commands, init } = place();
      expect([point, (await init(killedAt(point))).signal]).toEqual([point, 'SIGKILL']);
      // Every check tries one command at each point.
      const command = commands[index % commands.length] as readonly string[];
      const early = await run(command);
      const again = await init();
      // A process killed after the last step has done everything.
      const isDone = again.exit === 2;
      if (isDone) expect(JSON.parse(again.stderr).error).toBe('ERR_LOCAL_ALREADY_EXISTS');
      else expect([point, again.exit]).toEqual([point, 0]);
      if (isDone) expect([point, early.exit]).toEqual([point, 0]);
      else expect([early.exit, JSON.parse(early.stderr).error]).toEqual([2, 'ERR_LOCAL_NOT_FOUND']);
      expect([point, (await run(command)).exit]).toEqual([point, 0]);
      const { burned, usedToday } = JSON.parse((await run(['local', 'status'])).stdout);
      const once = ['1', '5', '0'][index % commands.length] as string;
      expect({ burned, usedToday }).toEqual({ burned: once, usedToday: { burn: once, airdrop: '0' } });
    }
  });

  itLong('is made by one of two that begin at once', async () => {
    const { home, dataDir, run } = place();
    const init = () => flywheel({ home, env: { FLYWHEEL_DATA_DIR: dataDir } }, 'local', 'init');
    const ended = await Promise.all([init(), init(), init()]);
    expect(ended.map(({ exit }) => exit).sort()).toEqual([0, 2, 2]);
    for (const { exit, stderr } of ended)
      if (exit === 2) expect(JSON.parse(stderr).error).toBe('ERR_LOCAL_ALREADY_EXISTS');
    expect((await run(BURN.concat('--yes'))).exit).toBe(0);
  });

  it('replaces no databases that have lost their configuration', async () => {
    const { home, init } = place();
    expect((await init()).exit).toBe(0);
    rmSync(join(home, 'data', 'local.json'));
    const { exit, stderr } = await init();
    expect([exit, JSON.parse(stderr).error]).toEqual([6, 'ERR_STORE_UNAVAILABLE']);
  });
});
