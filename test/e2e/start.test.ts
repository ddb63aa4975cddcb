/** Program start: the compile cache is used only if this user alone can write it, and an old Node is refused. */

import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { itLong, sampleOf } from '../support/long.js';
import { emptyDirectory, flywheel } from '../support/spawn.js';

const HAS_OWN_CACHE = 'enableCompileCache' in (await import('node:module')).default;

describe.runIf(!HAS_OWN_CACHE)('compiled code', () => {
  let home = '';
  let directory = '';
  let file = '';
  const run = async () => {
    const { exit, stdout } = await flywheel(
      { home, env: { XDG_CACHE_HOME: join(home, '.cache') } },
      'schema',
      'burns',
    );
    expect([exit, JSON.parse(stdout)]).toEqual([0, expect.anything()]);
    return statSync(file, { throwIfNoEntry: false })?.ino;
  };

  beforeEach(async () => {
    home = emptyDirectory();
    directory = join(home, '.cache/flywheel');
    file = join(directory, 'code.bin');
    await run();
  });

  it('is kept for this user alone, and used from then on', async () => {
    expect([statSync(file).mode & 0o777, statSync(directory).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(readdirSync(directory)).toEqual(['code.bin']);
    const kept = statSync(file).ino;
    expect(await run()).toBe(kept);
  });

  it.each(sampleOf(['a byte', 'the end', 'all of it', 'the maker'], 1))(
    'is made again where %s is not what was kept',
    async (damage) => {
      const bytes = readFileSync(file);
      if (damage === 'a byte') bytes[bytes.length - 1_000] = (bytes.at(-1_000) ?? 0) ^ 1;
      const half = bytes.subarray(0, bytes.length / 2);
      const foreign = Buffer.from(bytes.toString('latin1').replace('flywheel-', 'flywheel+'), 'latin1');
      const other = { 'a byte': bytes, 'the end': half, 'all of it': Buffer.from('x'), 'the maker': foreign }[
        damage
      ];
      writeFileSync(file, other ?? '');
      const damaged = statSync(file).ino;
      expect(await run()).not.toBe(damaged);
      expect(readFileSync(file).length).toBeGreaterThan(100_000);
    },
  );

  it.each(sampleOf(['.cache', '.cache/flywheel', '.cache/flywheel/code.bin'], 1))(
    'is not run where others may write %s',
    async (path) => {
      // The checksum is valid, so only the check of file permissions keeps this code from running.
      const bytes = readFileSync(file);
      const end = bytes.indexOf('\n');
      const { crc32 } = await import('node:zlib');
      const [maker, bytecode] = bytes.toString('latin1', 0, end).split('|');
      const code = Buffer.alloc(bytes.length - end - 1);
      writeFileSync(file, Buffer.concat([Buffer.from(`${maker}|${bytecode}|${crc32(code)}\n`), code]));
      chmodSync(join(home, path), 0o777);
      await run();
    },
  );

  itLong('is not needed: a place that cannot be written changes nothing', async () => {
    const blocked = join(home, 'file');
    writeFileSync(blocked, '');
    const { exit } = await flywheel({ home, env: { XDG_CACHE_HOME: blocked } }, 'schema', 'burns');
    expect(exit).toBe(0);
  });
});

describe('a node that is too old', () => {
  it.each(sampleOf(['0.12.18', '18.20.4', '20.17.0'], 2))('%s is told so in one sentence', (version) => {
    const program = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require(${JSON.stringify(join(process.cwd(), 'bin/flywheel.js'))})`;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect([status, stdout, stderr.trim().split('\n').length]).toEqual([2, '', 1]);
    expect(stderr).toContain('20.18');
    expect(stderr).toContain(version);
  });

  it('can read bin/flywheel.js: it is written in the JavaScript of 2009', () => {
    const text = readFileSync('bin/flywheel.js', 'utf8');
    expect(/=>|`|\b(const|let|class|async)\b|\?\.|\.\.\./.test(text)).toBe(false);
  });
});

it('reports an error that a library throws outside of every call as one line, and where with FLYWHEEL_DEBUG', async () => {
  const home = emptyDirectory();
  const preloaded = join(home, 'throws.cjs');
  writeFileSync(preloaded, `setImmediate(() => { throw new Error('out of nowhere'); });`);
  const at = (debug: string) =>
    flywheel(
      { home, env: { NODE_OPTIONS: `--require ${preloaded}`, FLYWHEEL_DEBUG: debug } },
      ...['whoami', '--output', 'human'],
    );
  expect(await at('')).toMatchObject({
    exit: 1,
    stderr:
      'error: Internal error (a bug). Run again with FLYWHEEL_DEBUG=1 and report the stack trace. (ERR_INTERNAL)\n',
  });
  expect((await at('1')).stderr).toMatch(/Error: out of nowhere\n.*throws\.cjs:1/);
});
