/** Builds dist: the command line with one lazy chunk a command, the library entries, and their types. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';

/** Loaded from node_modules: what is native, large, or has files of its own beside its code. */
const EXTERNAL = [
  '@libsql/*',
  'litesvm-*',
  'fastify',
  '@solana/web3.js',
  '@sqds/multisig',
  'undici',
  'conf',
  'pg',
  'prom-client',
  'rate-limiter-flexible',
];

/**
 * Commander loads node:child_process at once, a twentieth of the start-up time, to run sub-commands that are programs of
 * their own. There are none here.
 */
const commanderWithoutPrograms = {
  name: 'commander-without-programs',
  setup({ onLoad }) {
    onLoad({ filter: /commander[\\/]lib[\\/]command\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replace("require('node:child_process')", 'undefined');
      if (contents === source) throw new Error(`${path} no longer loads node:child_process like this`);
      return { contents, loader: 'js' };
    });
  },
};

/**
 * The SQLite driver finds its native half by asking node for a report on the whole process, which takes longer than all the
 * rest of opening a database. Whether the half for glibc loads says the same.
 */
const libsqlWithoutReport = {
  name: 'libsql-without-report',
  setup({ onLoad, onResolve }) {
    const standIns = {
      '@neon-rs/load': `
        const machine = process.platform + '-' + process.arch;
        const loads = (target) => { try { return require('@libsql/' + target) !== undefined; } catch { return false; } };
        exports.currentTarget = () =>
          process.platform !== 'linux' ? machine + (process.platform === 'win32' ? '-msvc' : '')
          : loads(machine + '-gnu') ? machine + '-gnu' : machine + '-musl';`,
      'detect-libc': "exports.GLIBC = 'glibc'; exports.MUSL = 'musl'; exports.familySync = () => null;",
    };
    onResolve({ filter: /^(@neon-rs\/load|detect-libc)$/ }, ({ path }) => ({ path, namespace: 'stand-in' }));
    onLoad({ filter: /.*/, namespace: 'stand-in' }, ({ path }) => ({
      contents: standIns[path],
      loader: 'js',
    }));
  },
};

const common = {
  outdir: 'dist',
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [commanderWithoutPrograms, libsqlWithoutReport],
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS packages ask for `require`, which a module does not have.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
  logLevel: 'warning',
};

rmSync('dist', { recursive: true, force: true });
// Apart from each other: what the library shares with the command line would be one more file to open at every start.
// As .mjs, node need not look for the package.json above each of some forty files: a twentieth of a burn.
await build({ ...common, entryPoints: { main: 'src/main.ts' }, outExtension: { '.js': '.mjs' } });
await build({ ...common, entryPoints: { index: 'src/index.ts', contract: 'src/contract/index.ts' } });

const help = spawnSync(process.execPath, ['bin/flywheel.js', 'help'], { encoding: 'utf8' });
if (help.status !== 0) throw new Error(help.stderr);
writeFileSync('dist/help.txt', help.stdout);

if (!process.argv.includes('--no-types')) {
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
    stdio: 'inherit',
  });
  process.exitCode = tsc.status ?? 1;
}
