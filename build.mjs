/** Builds dist: the program, the library with its types, and the notices of bundled packages. */
import { rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';
import { bundledPackages, notices } from './build/notices.mjs';
import { writeTypes } from './build/types.mjs';

/** Installed beside the program (native), or never installed: the packages that import them work without. */
const EXTERNAL = ['@libsql/*', 'litesvm-*', 'bufferutil', 'pg-cloudflare', 'pg-native', 'utf-8-validate'];

/** Modules that flywheel does not use: the package that imports each, and the source that replaces it. */
const UNUSED = {
  // Subscriptions of web3.js. Its licence (LGPL) is none of those that build/notices.mjs allows.
  'rpc-websockets': ['@solana/web3.js', 'exports.CommonClient = class { on() { return this; } };'],
  // Node.js has fetch, and the only connection of web3.js brings its own.
  'node-fetch': ['@solana/web3.js', ''],
  // Schemas of routes, and requests without a socket.
  '@fastify/ajv-compiler': ['fastify', 'module.exports = () => undefined;'],
  '@fastify/fast-json-stringify-compiler': ['fastify', 'module.exports = () => undefined;'],
  'light-my-request': ['fastify', ''],
  // Subcommands as separate programs; costs each command 8 ms.
  'node:child_process': ['commander', ''],
  // Costs each request to a service 10 ms; undici also works on a Node.js without HTTP/2.
  'node:http2': ['undici', 'exports.constants = {};'],
};
const withoutUnused = {
  name: 'without-unused',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: new RegExp(`^(${Object.keys(UNUSED).join('|')})$`) }, ({ path, importer }) =>
      importer.includes(`/node_modules/${UNUSED[path][0]}/`) ? { path, namespace: 'unused' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'unused' }, ({ path }) => ({ contents: UNUSED[path][1] }));
  },
};

const common = {
  bundle: true,
  minify: true,
  // Node prints the line that threw.
  lineLimit: 110,
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [withoutUnused],
  outdir: 'dist',
  metafile: true,
  logLevel: 'warning',
};
/** CommonJS: V8 accepts cached code only for scripts. Dynamic imports become `require`, which a script can call. */
const script = {
  ...common,
  format: 'cjs',
  supported: { 'dynamic-import': false },
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '__filename' },
};

rmSync('dist', { recursive: true, force: true });
const library = await build({
  ...common,
  entryPoints: { index: 'src/index.ts', contract: 'src/contract/index.ts' },
  format: 'esm',
  splitting: true,
  // Bundled CommonJS packages call `require`, which does not exist in a module.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});
const program = await build({
  ...script,
  // Needs no function around it: wrapping a text of megabytes copies it.
  format: 'iife',
  entryPoints: { flywheel: 'src/main.ts' },
  entryNames: '[name]-[hash]',
  // Source positions for FLYWHEEL_DEBUG.
  sourcemap: 'linked',
  sourcesContent: false,
});
const [file] = Object.keys(program.metafile.outputs).filter((name) => name.endsWith('.cjs'));
await build({
  ...script,
  entryPoints: { start: 'src/start.ts' },
  define: { __PROGRAM__: JSON.stringify(basename(file)) },
});

const packages = bundledPackages([library.metafile, program.metafile]);
writeFileSync('THIRD_PARTY_NOTICES', notices(packages));
const named = packages.map(({ name, version, licence }) => ({ name, version, licence }));
writeFileSync('dist/bundled.json', `${JSON.stringify(named, null, 1)}\n`);
if (!process.argv.includes('--no-types')) writeTypes();
