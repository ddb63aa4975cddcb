/** Bundles a TypeScript program of the tests and runs it in this process: `node run-typescript.mjs FILE [argument…]`. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [entry] = process.argv.splice(2, 1);
// Below node_modules, so that external packages resolve from there.
const outfile = resolve(
  'node_modules/.cache/flywheel',
  `${entry.replaceAll(/\W+/g, '-')}-${process.pid}.mjs`,
);
await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['litesvm-*', 'esbuild'],
  sourcemap: 'inline',
  logLevel: 'warning',
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});
// Another process may bundle the same program at the same time, so each has its own file.
process.once('exit', () => rmSync(outfile, { force: true }));
await import(pathToFileURL(outfile).href);
