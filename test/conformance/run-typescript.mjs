/** Bundles a TypeScript program of the tests and runs it in this process: `node run-typescript.mjs FILE [argument…]`. */
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [entry] = process.argv.splice(2, 1);
// Below node_modules, so that packages left external are found from there.
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
// Another process may bundle the same program meanwhile, so that each has a file of its own.
process.once('exit', () => rmSync(outfile, { force: true }));
await import(pathToFileURL(outfile).href);
