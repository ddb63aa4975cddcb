import { rmSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * How esbuild makes one file of a TypeScript program of the tests. It lies below node_modules, so that external packages resolve
 * from there; each process has its own, and removes it.
 */
export function bundleOf(entry) {
  const outfile = resolve(
    'node_modules/.cache/flywheel',
    `${entry.replaceAll(/\W+/g, '-')}-${process.pid}.mjs`,
  );
  process.once('exit', () => rmSync(outfile, { force: true }));
  return {
    ...{ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    ...{ external: ['litesvm-*', 'esbuild'], logLevel: 'warning' },
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  };
}
