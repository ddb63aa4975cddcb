/** Builds dist: the program, the library with its types, and what is said about the packages in them. */
import { rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';
import { bundledPackages, notices } from './build/notices.mjs';
import { writeTypes } from './build/types.mjs';

/** Installed beside the program (native), or never installed: the packages that ask for them go on without. */
const EXTERNAL = ['@libsql/*', 'litesvm-*', 'bufferutil', 'pg-cloudflare', 'pg-native', 'utf-8-validate'];

/** Modules that packages ask for and that nothing here uses: who asks, and what it gets instead. */
const UNUSED = {
  // For web3.js' own subscriptions; its licence (LGPL) keeps it out of a bundle.
  'rpc-websockets': ['@solana/web3.js', 'exports.CommonClient = class { on() { return this; } };'],
  // For subcommands that are programs of their own; costs each command 8 ms.
  'node:child_process': ['commander', ''],
  // Costs each request of a service 10 ms; undici goes on as on a node without it.
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
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [withoutUnused],
  outdir: 'dist',
  metafile: true,
  logLevel: 'warning',
};
/** A script, since V8 takes back compiled code of scripts only; what it imports late it requires, which a script can. */
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
  // Bundled CommonJS packages ask for `require`, which a module does not have.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});
const program = await build({
  ...script,
  entryPoints: { flywheel: 'src/main.ts' },
  entryNames: '[name]-[hash]',
  // Positions in the sources for FLYWHEEL_DEBUG.
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
