/** What a short command loads of node itself: each module of it takes longer than much of the work. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { initHome } from '../support/http-serve.js';

/** Written down when a process ends. */
const LIST = `process.on('exit', () => require('fs').writeFileSync(process.env.LOADED, process.moduleLoadList.join('\\n')));`;

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
    const [kept = ''] = readdirSync(join(cache, 'flywheel'));
    const head = readFileSync(join(cache, 'flywheel', kept), 'latin1').split('\n')[0] ?? '';
    expect([...head.matchAll(/([\w-]+)=\d+/g)].map(([, pack]) => pack)).toEqual(['app', 'app-engine']);
  });
});
