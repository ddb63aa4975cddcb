/**
 * Loads the program proper together with the code that V8 has compiled of it before: parsing and compiling would otherwise be the
 * longest part of a short command. V8 refuses what another version of it has made. The program lies in packs (`build/program.mjs`),
 * scripts with many chunks; a pack is read when something of it is first asked for, a chunk runs then.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { type CodeCachePlace, type KeptCode, openCodeCache } from './code-cache.js';
import { readAscii } from './read-again.js';
import { withUsualHeap } from './small-heap.js';

type App = typeof import('./app.js');

export interface LoadedApp {
  readonly app: App;
  /** Keeps what has been compiled by now, if that is not there yet. */
  readonly keepCode: () => void;
}

interface Chunk {
  exports: unknown;
}

/** Asks for a package or for another chunk. */
type Require = (name: string) => unknown;

/** Another chunk, which runs when something of it is first used: what a command uses nothing of costs it nothing. */
class Later {
  readonly #require: Require;
  readonly #name: string;

  constructor(require: Require, name: string) {
    this.#require = require;
    this.#name = name;
  }

  get $(): unknown {
    const value = this.#require(this.#name);
    // From now on as quick to read as any field.
    Object.defineProperty(this, '$', { value });
    return value;
  }
}

type Pack = Readonly<Record<string, (require: Require, module: Chunk, exports: unknown) => void>>;
type MakePack = (require: Require, url: string) => Pack;

/** A chunk as other chunks name it: the pack that it lies in, and its own name. */
const CHUNK = /^#([^/]+)\/(.+)$/;
/** What the program begins with. */
const FIRST = '#app/app';

/** Runs each chunk once, when it is first asked for. */
function createRequirer(
  openPack: (name: string) => MakePack,
  url: string,
  note: (name: string) => void,
): Require {
  const packs = new Map<string, Pack>();
  const chunks = new Map<string, Chunk>();
  const outside = createRequire(url);
  const require: Require = (name) => {
    const known = chunks.get(name);
    if (known !== undefined) return known.exports;
    const [, place, chunk] = CHUNK.exec(name) ?? [];
    if (place === undefined || chunk === undefined) return outside(name);
    note(chunk);
    const pack = packs.get(place) ?? openPack(place)(require, url);
    packs.set(place, pack);
    const module: Chunk = { exports: {} };
    chunks.set(name, module);
    try {
      pack[chunk]?.(require, module, module.exports);
    } catch (error) {
      // As node does: whoever asks again is told again.
      chunks.delete(name);
      throw error;
    }
    return module.exports;
  };
  return Object.assign(require, outside, { later: (name: string) => new Later(require, name) });
}

/**
 * @param words - of the command, which decide what of the program will run.
 * @param debug - stack traces are to name the sources; nothing is kept then.
 */
export function loadApp(place: CodeCachePlace, words: readonly string[], debug: boolean): LoadedApp {
  const url = new URL('app.cjs', import.meta.url);
  const fileOf = (pack: string): string => fileURLToPath(new URL(`${pack}.cjs`, url));
  if (debug) {
    // Only of what node loads itself does it know the positions in the sources.
    const open = (pack: string): MakePack => createRequire(url)(fileOf(pack)) as MakePack;
    return { app: createRequirer(open, url.href, () => undefined)(FIRST) as App, keepCode: () => undefined };
  }
  const cache = openCodeCache(place, fileURLToPath(url), words);
  const kept = cache?.read();
  const scripts = new Map<string, Script>();
  const known = new Set(kept?.parts);
  const run = new Set<string>();
  let isMore = false;
  let isRefused = false;
  const open = (pack: string): MakePack => {
    const filename = fileOf(pack);
    const text = readAscii(filename);
    const cachedData = kept?.code(pack);
    const options = { filename, ...(cachedData === undefined ? {} : { cachedData }) };
    // A pack may be opened late, in a process that keeps its heap small by then.
    const script = withUsualHeap(() => new Script(text, options));
    isRefused ||=
      cachedData === undefined ? kept?.packs.includes(pack) === true : script.cachedDataRejected === true;
    scripts.set(pack, script);
    return script.runInThisContext() as MakePack;
  };
  const note = (chunk: string): void => {
    run.add(chunk);
    isMore ||= !known.has(chunk);
  };
  return {
    app: createRequirer(open, url.href, note)(FIRST) as App,
    keepCode: () => {
      if (cache === null || !(isMore || isRefused)) return;
      const code = withUsualHeap(() => compiled(scripts));
      const others = isRefused ? undefined : kept;
      cache.write({
        parts: [...new Set([...(others?.parts ?? []), ...run])],
        code: new Map([...unopened(others, scripts), ...code]),
      });
    },
  };
}

const compiled = (scripts: ReadonlyMap<string, Script>): readonly (readonly [string, Buffer])[] =>
  [...scripts].map(([pack, script]) => [pack, script.createCachedData()] as const);

/** What was kept of packs that were not needed this time. */
function* unopened(
  kept: KeptCode | undefined,
  scripts: ReadonlyMap<string, Script>,
): Generator<readonly [string, Buffer]> {
  for (const pack of kept?.packs ?? []) {
    const bytes = scripts.has(pack) ? undefined : kept?.code(pack);
    if (bytes !== undefined) yield [pack, Buffer.from(bytes)];
  }
}
