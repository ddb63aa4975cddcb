/** Bundles a TypeScript program of the tests and runs it in this process: `node run-typescript.mjs FILE [argument…]`. */
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { bundleOf } from '../support/bundle.mjs';

const [entry] = process.argv.splice(2, 1);
const bundle = bundleOf(entry);
await build({ ...bundle, sourcemap: 'inline' });
await import(pathToFileURL(bundle.outfile).href);
