/**
 * `npm run mutate:squads [FILE…]`: changes the native program in one place at a time and says which changes no test notices.
 *
 * Each mutant is bundled with the vectors and the specification's cases (`check.ts`) and run in a process of its own.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { context } from 'esbuild';
import { mutantsOf } from './mutants.mjs';

const FOLDER = 'src/chain/local/squads';
const OUTFILE = resolve(`node_modules/.cache/flywheel/mutant-${process.pid}.mjs`);
const TIMEOUT_MS = 60_000;

/** Changes that cannot be noticed, and why: they cost time and nothing else. */
const EXPLAINED = new Map([
  ['readsAs(state.data, value) → false', 'writes an unchanged value again, which gives the same bytes'],
  ['rememberDecoded(data, value); → ;', 'decodes again what was just encoded'],
]);

const files =
  process.argv.length > 2 ? process.argv.slice(2) : readdirSync(FOLDER).map((name) => join(FOLDER, name));
const mutants = files
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => mutantsOf(file, readFileSync(file, 'utf8')));

let current = null;
const swapIn = {
  name: 'swap-in-the-mutant',
  setup(build) {
    build.onLoad({ filter: /\/local\/squads\/[^/]+\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      if (current === null || resolve(current.file) !== path) return { contents: text, loader: 'ts' };
      return {
        contents: text.slice(0, current.start) + current.replacement + text.slice(current.end),
        loader: 'ts',
      };
    });
  },
};

const bundler = await context({
  entryPoints: ['test/mutation/check.ts'],
  outfile: OUTFILE,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  external: ['litesvm-*'],
  logLevel: 'silent',
  plugins: [swapIn],
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
  },
});

/** `killed` when the tests notice, or the mutant does not even build. */
async function outcome(mutant) {
  current = mutant;
  try {
    await bundler.rebuild();
  } catch {
    return 'killed';
  }
  const { status } = spawnSync(process.execPath, [OUTFILE], { timeout: TIMEOUT_MS, stdio: 'ignore' });
  return status === 0 ? 'survived' : 'killed';
}

if ((await outcome(null)) !== 'survived') {
  process.stdout.write('The program fails its tests as it is.\n');
  process.exit(1);
}
const survivors = [];
for (const mutant of mutants) {
  if ((await outcome(mutant)) === 'killed') continue;
  const reason = EXPLAINED.get(`${mutant.was} → ${mutant.replacement}`);
  if (reason !== undefined) {
    process.stdout.write(`explained ${mutant.file}:${mutant.line}  ${reason}\n`);
    continue;
  }
  survivors.push(mutant);
  const was = mutant.was.replaceAll(/\s+/g, ' ').slice(0, 70);
  process.stdout.write(
    `SURVIVED ${mutant.file}:${mutant.line}  ${was}  →  ${mutant.replacement.slice(0, 70)}\n`,
  );
}
await bundler.dispose();
process.stdout.write(`${mutants.length} mutants, ${survivors.length} survived unexplained\n`);
process.exitCode = survivors.length === 0 ? 0 : 1;
