/** What a short command loads of node itself: each module of it takes longer than much of the work. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { initHome, serve } from '../support/http-serve.js';

/** Written down when a process ends. */
const LIST = `process.on('exit', () => require('fs').writeFileSync(process.env.LOADED, process.moduleLoadList.join('\\n')));`;

/** What the one command that has run has kept: the packs that it read, and the chunks of them that it ran. */
function keptIn(cache: string): { readonly packs: readonly string[]; readonly chunks: readonly string[] } {
  const [kept = ''] = readdirSync(join(cache, 'flywheel'));
  const [head = ''] = readFileSync(join(cache, 'flywheel', kept), 'latin1').split('\n');
  const [, sizes = '', ...chunks] = head.split(' ');
  return { packs: [...sizes.matchAll(/([\w-]+)=\d+/g)].map(([, pack = '']) => pack), chunks };
}

/** The chunk that makes a shape with this description. */
function chunkWith(description: string): string {
  const text = readFileSync('dist/app.cjs', 'latin1');
  const before = text.slice(0, text.indexOf(description));
  return [...before.matchAll(/^"([^"]+)":function\(/gm)].at(-1)?.[1] ?? '';
}

describe('a command that prints into a file', () => {
  it('makes no stream for what it does not print, loads no clock and no loader, and reads no seldom needed part', async () => {
    const { home, dataDir } = await initHome();
    const [list, loaded] = [join(home, 'list.cjs'), join(home, 'loaded.txt')];
    writeFileSync(list, LIST);
    const cache = join(home, 'cache');
    const env = {
      ...{ PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: cache },
      ...{ FLYWHEEL_DATA_DIR: dataDir, LOADED: loaded },
    };
    const burn = ['burn', '--type', 'WATCH_AD', '--proof', '{"ad":1}', '--amount', '1'];
    execFileSync(process.execPath, ['--require', list, resolve('bin/flywheel.js'), ...burn], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const names = new Set(readFileSync(loaded, 'utf8').split('\n'));
    expect(names).toContain('NativeModule crypto');
    for (const name of ['net', 'perf_hooks', 'module']) expect(names).not.toContain(`NativeModule ${name}`);
    // Of the program it reads what is often needed, and the engine.
    expect(keptIn(cache).packs).toEqual(['app', 'app-engine']);
  });

  it('reads no engine for a request, and makes no shapes but those of its operation, without cryptography', async () => {
    const served = await initHome();
    const server = await serve(served);
    try {
      const [list, loaded] = [join(served.home, 'list.cjs'), join(served.home, 'loaded.txt')];
      writeFileSync(list, LIST);
      const cache = join(served.home, 'cache');
      const env = {
        ...{ PATH: process.env['PATH'], HOME: served.home, XDG_CACHE_HOME: cache },
        ...{ FLYWHEEL_API_URL: server.url, FLYWHEEL_API_KEY: served.key, LOADED: loaded },
      };
      const words = ['--require', list, resolve('bin/flywheel.js'), 'batch', 'current', '--json'];
      expect((await promisify(execFile)(process.execPath, words, { env })).stdout).toBe('null\n');
      expect(readFileSync(loaded, 'utf8').split('\n')).not.toContain('NativeModule crypto');
      const { packs, chunks } = keptIn(cache);
      expect(packs).toEqual(['app', 'app-client']);
      expect(chunks).toContain(chunkWith('Number of the batch in its multisig'));
      expect(chunks).not.toContain(chunkWith('true records the proof hash on the blockchain.'));
      expect(chunks).not.toContain(chunkWith('Weeks are those of ISO 8601'));
    } finally {
      await server.end('SIGTERM');
    }
  });
});
