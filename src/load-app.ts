/**
 * Loads the program proper, `dist/app.cjs`, together with the code that V8 has compiled of it before.
 *
 * Parsing and compiling would otherwise be the longest part of a short command. The build writes the compiled code beside
 * the program; V8 refuses it when its own version or flags are others, or the program has changed, and then compiles anew.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

type App = typeof import('./app.js');

let app: App | undefined;

function readCache(file: string): { cachedData?: Buffer } {
  try {
    return { cachedData: readFileSync(file) };
  } catch {
    return {};
  }
}

/** The program; loaded once. */
export function loadApp(): App {
  if (app !== undefined) return app;
  const filename = fileURLToPath(new URL('app.cjs', import.meta.url));
  const wrapped = `(function (require, module, exports, __filename) {${readFileSync(filename, 'utf8')}\n})`;
  const script = new Script(wrapped, { filename, ...readCache(`${filename}.cache`) });
  const module = { exports: {} };
  script.runInThisContext()(createRequire(filename), module, module.exports, filename);
  app = module.exports as App;
  return app;
}
