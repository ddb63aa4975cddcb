/**
 * Loads the program proper, `dist/app.cjs`, together with the code that V8 has compiled of it before: parsing and compiling
 * would otherwise be the longest part of a short command. V8 refuses what another version of it has made.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { type CodeCachePlace, openCodeCache } from './code-cache.js';

type App = typeof import('./app.js');

export interface LoadedApp {
  readonly app: App;
  /** Keeps what has been compiled by now, if that is not there yet. */
  readonly keepCode: () => void;
}

/**
 * @param words - of the command, which decide what of the program will run.
 * @param debug - stack traces are to name the sources; nothing is kept then.
 */
export function loadApp(place: CodeCachePlace, words: readonly string[], debug: boolean): LoadedApp {
  const filename = fileURLToPath(new URL('app.cjs', import.meta.url));
  // Only of what node loads itself does it know the positions in the sources.
  if (debug) return { app: createRequire(filename)(filename) as App, keepCode: () => undefined };
  const cache = openCodeCache(place, filename, words);
  const kept = cache?.read();
  // ASCII, as the build sees to: V8 keeps it in half the memory, and it is read in one go.
  const wrapped = `(function (require, module, exports, __filename) {${readFileSync(filename, 'latin1')}\n})`;
  const script = new Script(wrapped, { filename, ...(kept === undefined ? {} : { cachedData: kept.code }) });
  const parts = new Set(script.cachedDataRejected === true ? [] : kept?.parts);
  const known = parts.size;
  const require = createRequire(filename);
  // Which packages are asked for tells which parts of the program run.
  const noting = (name: string): unknown => {
    parts.add(name);
    return require(name);
  };
  const module = { exports: {} };
  script.runInThisContext()(Object.assign(noting, require), module, module.exports, filename);
  return {
    app: module.exports as App,
    keepCode: () => {
      if (cache !== null && parts.size > known)
        cache.write({ parts: [...parts], code: script.createCachedData() });
    },
  };
}
