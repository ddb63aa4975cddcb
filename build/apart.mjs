/** Which packages are put into files of their own, and how the rest of the program finds them there; and what stands in for some. */

/** Loaded from node_modules: only what is native. */
export const NATIVE = ['@libsql/*', 'litesvm-*'];

/** Packages that are large and that few commands ask for, each with its file in dist; all that uses one shares that file. */
export const APART = {
  fastify: 'fastify',
  '@solana/web3.js': 'web3',
  'prom-client': 'prom-client',
  ws: 'ws',
  pg: 'pg',
};

const exactly = (names) => new RegExp(`^(${names.join('|').replaceAll('.', '\\.')})$`);

/** Of the SDK of Squads only a part is used; the module that names it is the entry of its file. */
const SQUADS_SDK = /\/squads-sdk\.js$/;

/** In a script: requires the file, and nothing is lost between the two. */
export const requiringApart = (except) => ({
  name: 'requiring-apart',
  setup({ onResolve }) {
    const names = Object.keys(APART).filter((name) => name !== except);
    onResolve({ filter: exactly(names) }, ({ path }) => ({ path: `./${APART[path]}.cjs`, external: true }));
    onResolve({ filter: SQUADS_SDK }, () => ({ path: './squads-sdk.cjs', external: true }));
  },
});

/** In a module: node cannot tell what such a file exports, so it is required there as well, by a module in between. */
export const requiringApartFromModules = {
  name: 'requiring-apart-from-modules',
  setup({ onLoad, onResolve }) {
    const between = (file) => ({ path: `./${file}.cjs`, namespace: 'apart' });
    onResolve({ filter: /^\.\/.*\.cjs$/, namespace: 'apart' }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: exactly(Object.keys(APART)) }, ({ path }) => between(APART[path]));
    onResolve({ filter: SQUADS_SDK }, () => between('squads-sdk'));
    onLoad({ filter: /.*/, namespace: 'apart' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};

/** Sources that are bundled in place of a package's own. */
const STAND_INS = {
  // One connection and HTTP/1.1 are all that is asked of it; the rest of the package takes twice as long to start as all of that.
  // A module, since of anything else an import in another file finds no more than its default.
  undici: "export { default as Client } from 'undici/lib/dispatcher/client.js';",
  './client-h2.js': "module.exports = () => { throw new Error('HTTP/2 is not spoken here'); };",
  // The SQLite driver finds its native half by asking node for a report on the whole process, which takes longer than all
  // the rest of opening a database. Whether the half for glibc loads says the same.
  '@neon-rs/load': `
    const machine = process.platform + '-' + process.arch;
    const loads = (target) => { try { return require('@libsql/' + target) !== undefined; } catch { return false; } };
    exports.currentTarget = () =>
      process.platform === 'win32' ? machine + '-msvc'
      : process.platform !== 'linux' ? machine
      : process.arch === 'arm' ? machine + (loads(machine + '-gnueabihf') ? '-gnueabihf' : '-musleabihf')
      : loads(machine + '-gnu') ? machine + '-gnu' : machine + '-musl';`,
  'detect-libc': "exports.GLIBC = 'glibc'; exports.MUSL = 'musl'; exports.familySync = () => null;",
  // Native, and not asked for; and of another runtime.
  'pg-native': "throw new Error('not installed');",
  'pg-cloudflare': 'exports.CloudflareSocket = undefined;',
  // Native, and not needed: `ws` has the same in JavaScript for where they are not installed.
  bufferutil: "throw new Error('not installed');",
  'utf-8-validate': "throw new Error('not installed');",
  // For subscriptions by way of `Connection`, which are not used; under a licence that keeps it out of a bundle.
  'rpc-websockets': 'exports.CommonClient = class { on() { return this; } };',
};

export const standIns = {
  name: 'stand-ins',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: exactly(Object.keys(STAND_INS)) }, ({ path }) => ({ path, namespace: 'stand-in' }));
    onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ path }) => ({
      contents: STAND_INS[path],
      loader: 'js',
      resolveDir: '.',
    }));
  },
};

/** Modules of node's own that take milliseconds to load, of which short commands use nothing, or nothing until late. */
const LATE = [
  ...['assert', 'child_process', 'crypto', 'http', 'module', 'os', 'readline', 'stream'],
  ...['timers/promises', 'tls', 'v8', 'vm', 'worker_threads', 'zlib'],
];

/**
 * Is asked for each name only when that is used, whichever names the node has that runs it. An import takes over the prototype of
 * what it imports; whether that is a module of ES must not load it.
 */
const late = (name) => `
  let loaded;
  const whole = () => loaded ??= require('node:${name}');
  const names = new Proxy({}, { get: (_, name) => name === '__esModule' ? undefined : whole()[name] });
  module.exports = ${name === 'assert' ? 'Object.setPrototypeOf((value, message) => { if (!value) whole()(value, message); }, names)' : 'Object.create(names)'};`;

/** In place of node's module: what asks for packages can do so already. */
const MODULE = 'exports.createRequire = () => require;';

/** In place of node's http, for undici: a class of bodies that nobody sends here, and node's own limit. */
const HTTP_OF_UNDICI = 'exports.IncomingMessage = class {}; exports.maxHeaderSize = 16_384;';

const INSTEAD = { 'http of undici': HTTP_OF_UNDICI, module: MODULE };

export const lateBuiltins = {
  name: 'late-builtins',
  setup({ onLoad, onResolve }) {
    onResolve(
      { filter: new RegExp(`^(node:)?(${LATE.join('|')})$`) },
      ({ path, importer, namespace, kind }) => {
        // What is imported when it is needed is late enough.
        if (namespace === 'late' || kind === 'dynamic-import') return { path, external: true };
        const name = path.replace('node:', '');
        return {
          path: name === 'http' && importer.includes('/undici/') ? 'http of undici' : name,
          namespace: 'late',
        };
      },
    );
    onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
      contents: INSTEAD[path] ?? late(path),
      loader: 'js',
    }));
  },
};
