/** The compiled code that the program keeps for its next start: private, harmless when it is wrong, and never needed. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { emptyDirectory, flywheel } from '../support/spawn.js';

let home: string;
let cache: string;

beforeEach(() => {
  home = emptyDirectory();
  cache = join(home, 'cache', 'flywheel');
});

const version = (env: Record<string, string> = {}) =>
  flywheel({ home, env: { XDG_CACHE_HOME: join(home, 'cache'), ...env } }, 'help', 'exit-codes');

const files = (): readonly string[] => readdirSync(cache).map((name) => join(cache, name));
const only = (): string => {
  expect(files()).toHaveLength(1);
  return files()[0] ?? '';
};
/** What tells a file that was written once more from one that was left alone. */
const identity = (file: string) => statSync(file).ino;

describe('the compiled code', () => {
  it('is kept at the first run for this user alone, and used at the second', async () => {
    const first = await version();
    expect(first).toMatchObject({ exit: 0, stderr: '' });
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(statSync(only()).mode & 0o777).toBe(0o600);
    const kept = identity(only());
    expect(await version()).toEqual(first);
    expect(identity(only())).toBe(kept);
  });

  it('is made again when it is not what V8 has made', async () => {
    const first = await version();
    const parts = readFileSync(only()).subarray(0, readFileSync(only()).indexOf('\n') + 1);
    writeFileSync(only(), Buffer.concat([parts, Buffer.alloc(100_000, 7)]));
    expect(await version()).toEqual(first);
    expect(readFileSync(only()).includes(Buffer.alloc(1_000, 7))).toBe(false);
  });

  it('is made again when more of the program has run than before', async () => {
    const env = { XDG_CACHE_HOME: join(home, 'cache') };
    await flywheel({ home, env }, 'local', 'init', '--no-such-option');
    const early = identity(only());
    expect((await flywheel({ home, env }, 'local', 'init')).exit).toBe(0);
    expect(identity(only())).not.toBe(early);
    expect(readFileSync(only()).subarray(0, 2_000).toString('utf8')).toContain('libsql');
  });

  it('stays for what is not run this time, when other parts are added to it', async () => {
    const env = { XDG_CACHE_HOME: join(home, 'cache') };
    const engine = () => /app-engine=\d+:\w+/.exec(readFileSync(only(), 'latin1'))?.[0];
    expect((await flywheel({ home, env }, 'local', 'init')).exit).toBe(0);
    const [whole, first] = [identity(only()), engine()];
    expect(first).toBeDefined();
    await flywheel({ home, env }, 'local', 'init', '--no-such-option');
    expect(identity(only())).not.toBe(whole);
    expect(engine()).toBe(first);
  });

  it('is made again, once, when the end of it is damaged', async () => {
    const first = await version();
    const bytes = readFileSync(only());
    writeFileSync(only(), bytes.fill(0, bytes.length - 100));
    const damaged = identity(only());
    expect(await version()).toEqual(first);
    const again = identity(only());
    expect(again).not.toBe(damaged);
    expect(await version()).toEqual(first);
    expect(identity(only())).toBe(again);
  });

  it.each([
    ['the file', () => chmodSync(only(), 0o622)],
    ['its directory', () => chmodSync(cache, 0o777)],
  ])('is neither read nor written where others may write %s', async (what, open) => {
    const first = await version();
    writeFileSync(only(), 'x\nnot code');
    open();
    expect(await version()).toEqual(first);
    expect(readFileSync(only(), 'utf8') === 'x\nnot code').toBe(what === 'its directory');
  });

  it('is not read through a link or a pipe, nor when a bit of it has changed', async () => {
    const first = await version();
    const kept = only();
    const good = readFileSync(kept);
    renameSync(kept, join(home, 'elsewhere'));
    symlinkSync(join(home, 'elsewhere'), kept);
    expect(await version()).toEqual(first);
    expect(lstatSync(kept).isFile()).toBe(true);
    rmSync(kept);
    execFileSync('mkfifo', [kept]);
    expect(await version()).toEqual(first);
    expect(lstatSync(kept).isFile()).toBe(true);
    for (const at of [200, 5_000, 60_000]) {
      const bad = Buffer.from(good);
      bad.fill(0, at, at + 3_000);
      writeFileSync(kept, bad);
      expect(await version()).toEqual(first);
    }
  });

  it('leaves nothing of other builds', async () => {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    writeFileSync(join(cache, '0000000000000000-11-x64-0.burn.bin'), 'of another build');
    await version();
    expect(only()).toMatch(/\.help-exit-codes\.bin$/);
  });

  it('is not needed: without a place, and where the user wants none, everything works', async () => {
    const first = await version();
    expect(await version({ XDG_CACHE_HOME: '/proc/nowhere' })).toEqual(first);
    home = emptyDirectory();
    cache = join(home, 'cache');
    expect(await version({ NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(first);
    expect(readdirSync(home)).toEqual([]);
  });
});
