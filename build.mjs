/** Builds dist: the command line with its compiled code, the library entries, and their types. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Loaded from node_modules: what is native, large, or has files of its own beside its code. */
const EXTERNAL = ['@libsql/*', 'litesvm-*', 'fastify', '@solana/web3.js', 'undici', 'prom-client'];

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
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  external: EXTERNAL,
  plugins: [commanderWithoutPrograms, libsqlWithoutReport],
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
await build({
  ...common,
  entryPoints: { main: 'src/main.ts', app: 'src/app.ts' },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  format: 'cjs',
  // A script that came out of a cache cannot import; it requires, which every package left outside understands.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': '__url' },
  banner: { js: "const __url=require('node:url').pathToFileURL(__filename).href;" },
});

/** Runs the program once, with all that a first command does, and keeps what V8 has compiled by then. */
function keepCompiledCode() {
  const folder = mkdtempSync(join(tmpdir(), 'flywheel-build-'));
  const hook = join(folder, 'hook.cjs');
  writeFileSync(
    hook,
    `const vm = require('node:vm');
     const { writeFileSync } = require('node:fs');
     const { Script } = vm;
     vm.Script = class extends Script {
       constructor(source, options) {
         super(source, options);
         process.on('exit', () => writeFileSync(options.filename + '.cache', this.createCachedData()));
       }
     };
     require('node:module').syncBuiltinESMExports();`,
  );
  const env = { PATH: process.env.PATH, HOME: folder };
  const words = (...more) => [...more, '--data-dir', join(folder, 'data'), '--local', '--json'];
  const run = (options, args) => {
    const { status, stderr } = spawnSync(process.execPath, [...options, 'bin/flywheel.js', ...args], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  };
  run([], words('local', 'init'));
  run(['--require', hook], words('burn', '--type', 'PRODUCT_BUY', '--proof', '{}', '--amount', '1'));
  rmSync(folder, { recursive: true, force: true });
}
keepCompiledCode();

const help = spawnSync(process.execPath, ['bin/flywheel.js', 'help'], { encoding: 'utf8' });
if (help.status !== 0) throw new Error(help.stderr);
writeFileSync('dist/help.txt', help.stdout);

if (!process.argv.includes('--no-types')) {
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json'], {
    stdio: 'inherit',
  });
  process.exitCode = tsc.status ?? 1;
}
