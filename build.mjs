/** Builds dist: the command line, the library entries, and their types. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Loaded from node_modules: what is native, large, or has files of its own beside its code. */
const EXTERNAL = ['@libsql/*', 'litesvm-*', 'fastify', '@solana/web3.js', 'undici', 'prom-client', 'ws'];

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

/** The SDK of Squads is as large as a third of the program, and few commands ask for it: it stays in a file of its own. */
const squadsSdkApart = {
  name: 'squads-sdk-apart',
  setup({ onResolve }) {
    onResolve({ filter: /\/squads-sdk\.js$/ }, () => ({ path: './squads-sdk.cjs', external: true }));
  },
};

const common = {
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [libsqlWithoutReport],
  logLevel: 'warning',
};
const module = {
  ...common,
  outdir: 'dist',
  splitting: true,
  format: 'esm',
  chunkNames: 'chunks/[name]-[hash]',
  // Bundled CommonJS packages ask for `require`, which a module does not have.
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
};

rmSync('dist', { recursive: true, force: true });
await build({ ...module, entryPoints: { index: 'src/index.ts', contract: 'src/contract/index.ts' } });
// The program is a script, because only of a script does V8 take back what it has compiled before; what is imported lazily
// in it runs when first asked for. Its start is one too: node's loader of modules takes longer to start than all of that.
const script = {
  ...common,
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // A script that came out of a cache cannot import; it requires, which every package left outside understands.
  supported: { 'dynamic-import': false },
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
};
const url = { 'import.meta.url': '__url' };
await build({ ...script, entryPoints: { 'squads-sdk': 'src/chain/rpc/squads-sdk.ts' }, define: url });
await build({
  ...script,
  entryPoints: { app: 'src/app.ts' },
  plugins: [...common.plugins, squadsSdkApart],
  define: url,
});
// What was compiled of the program is kept for the user who runs it, and belongs to exactly this text.
const hash = createHash('sha256').update(readFileSync('dist/app.cjs')).digest('hex').slice(0, 16);
await build({
  ...script,
  entryPoints: { main: 'src/main.ts' },
  define: { ...url, __PROGRAM_HASH__: JSON.stringify(hash) },
});

const help = spawnSync(process.execPath, ['bin/flywheel.js', 'help'], {
  encoding: 'utf8',
  env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' },
});
if (help.status !== 0) throw new Error(help.stderr);
writeFileSync('dist/help.txt', help.stdout);

if (!process.argv.includes('--no-types')) {
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
    stdio: 'inherit',
  });
  process.exitCode = tsc.status ?? 1;
}
