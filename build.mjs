/** Builds dist: the command line, the library entries, their types, and what has to be said of all that is bundled. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';
import {
  APART,
  lateBuiltins,
  NATIVE,
  requiringApart,
  requiringApartFromModules,
  standIns,
} from './build/apart.mjs';
import { bundledPackages, notices } from './build/notices.mjs';
import { buildProgram } from './build/program.mjs';
import { writeTypes } from './build/types.mjs';

const common = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  external: NATIVE,
  outdir: 'dist',
  metafile: true,
  logLevel: 'warning',
};
const module = {
  ...common,
  plugins: [standIns, requiringApartFromModules],
  splitting: true,
  format: 'esm',
  // All in one directory: what is required lies beside whatever requires it.
  chunkNames: '[name]-[hash]',
  // Bundled CommonJS packages ask for `require`, which a module does not have.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
};
// The program is a script, because only of a script does V8 take back what it has compiled before; what is imported lazily
// in it runs when first asked for. Its start is one too: node's loader of modules takes longer to start than all of that.
const script = {
  ...common,
  plugins: [standIns, requiringApart()],
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // A script that came out of a cache cannot import; it requires, which every file and package left outside understands.
  supported: { 'dynamic-import': false },
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': '__url' },
};
const built = [];
const add = async (options) => void built.push((await build(options)).metafile);

rmSync('dist', { recursive: true, force: true });
await add({ ...module, entryPoints: { index: 'src/index.ts', contract: 'src/contract/index.ts' } });
for (const [name, file] of Object.entries(APART)) {
  await add({
    ...script,
    plugins: [standIns, requiringApart(name)],
    stdin: { contents: `module.exports = require('${name}');`, resolveDir: '.' },
    outdir: undefined,
    outfile: `dist/${file}.cjs`,
  });
}
await add({ ...script, entryPoints: { 'squads-sdk': 'src/chain/rpc/squads-sdk.ts' } });
await add({ ...script, entryPoints: { 'ledger-worker': 'src/chain/local/thread/ledger-worker.ts' } });
// Positions in the sources for FLYWHEEL_DEBUG; the sources themselves are not part of the package.
// What licences ask to be said of packages stands in THIRD_PARTY_NOTICES.
const program = await buildProgram({
  ...common,
  plugins: [standIns, lateBuiltins, requiringApart()],
  entryPoints: { app: 'src/app.ts' },
});
built.push(program.metafile);
const digest = createHash('sha256');
for (const { file, text } of program.files) {
  writeFileSync(`dist/${file}`, text);
  if (!file.endsWith('.cjs')) continue;
  digest.update(text);
  // It is read as such. Strings are escaped; a regular expression has to be written so.
  const beyondAscii = /[^\0-\x7f]/.exec(text);
  if (beyondAscii !== null)
    throw new Error(`dist/${file} holds ${JSON.stringify(beyondAscii[0])}, which is not ASCII`);
}
// What was compiled of the program is kept for the user who runs it, and belongs to exactly this text.
const hash = digest.digest('hex').slice(0, 16);
await add({
  ...script,
  plugins: [standIns, lateBuiltins, requiringApart()],
  entryPoints: { main: 'src/main.ts' },
  define: { ...script.define, __PROGRAM_HASH__: JSON.stringify(hash) },
});

const bundled = bundledPackages(built);
writeFileSync('THIRD_PARTY_NOTICES', notices(bundled));
writeFileSync(
  'dist/bundled.json',
  `${JSON.stringify(
    bundled.map(({ name, version, licence }) => ({ name, version, licence })),
    null,
    1,
  )}\n`,
);

// Run here only, so it is no part of dist.
const { outputFiles } = await build({
  ...script,
  stdin: {
    contents: "export * from './man-pages.js'; export * from './ready-pages.js';",
    resolveDir: 'src/cli/help',
  },
  write: false,
});
const pages = { exports: {} };
compileFunction(outputFiles[0].text, ['require', 'module', '__filename'])(
  createRequire(import.meta.url),
  pages,
  import.meta.filename,
);
const { manPages, readyPages } = pages.exports;
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const write = ({ file, text }) => {
  mkdirSync(dirname(`dist/${file}`), { recursive: true });
  writeFileSync(`dist/${file}`, text);
};
for (const { file, text } of await manPages(version)) write({ file: `man/${file}`, text });
for (const { file, text } of await readyPages(version)) write({ file: `help/${file}`, text });

if (!process.argv.includes('--no-types')) writeTypes();
