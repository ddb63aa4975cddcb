/**
 * `npm run ci:long [-- PART…]`: runs the checks that take hours, in sequence; all of them without names. Words after a single
 * part are passed to it: `npm run ci:long -- torture machines --seed 5 --minutes 2`.
 */
import { spawn } from 'node:child_process';

const script = (file, ...words) => ['test/conformance/run-typescript.mjs', file, ...words];
const vitest = (project) => [
  ...['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.long.config.ts'],
  ...['--project', project],
];

/** The command of each part; `usual` are its default words. */
const PARTS = {
  // All tests of `npm run test:all`, without samples.
  tests: {
    words: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'],
    env: { LONG: '1' },
  },
  torture: { words: script('test/torture/run.ts'), usual: ['--minutes', '40'] },
  fuzz: { words: script('test/fuzz/squads.ts'), env: { FUZZ_SECONDS: '1200' } },
  simulation: { words: script('test/simulation/run.ts'), usual: ['--minutes', '30'] },
  mutants: { words: ['test/mutants/run.mjs'] },
  // The recorded vectors and cases on the real program from SQUADS_PROGRAM.
  squads: { words: vitest('squads') },
  programs: { words: vitest('programs'), env: { LONG: '1' } },
  nodes: { words: vitest('nodes') },
  // On a validator with the Squads program, at VALIDATOR_URL.
  validator: { words: vitest('validator') },
};

const words = process.argv.slice(2);
const isPart = (word) => Object.hasOwn(PARTS, word);
const end = words.findIndex((word) => !isPart(word));
const named = end < 0 ? words : words.slice(0, end);
const given = end < 0 ? [] : words.slice(end);
if (given.length > 0 && named.length !== 1) {
  process.stderr.write(`Usage: npm run ci:long -- [${Object.keys(PARTS).join(' | ')} …]\n`);
  process.exit(2);
}

/** @returns the numbers of its line `N passed, N failed`; a part without one counts as one check. */
function run({ words: own, usual = [], env = {} }) {
  const child = spawn(process.execPath, [...own, ...(given.length > 0 ? given : usual)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...env, ...process.env },
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    output += chunk;
  });
  return new Promise((done) =>
    child.once('close', (status) => {
      const [, passed, failed] = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1) ?? [];
      const counts = { passed: Number(passed ?? 0), failed: Number(failed ?? 0) };
      if (status !== 0 && counts.failed === 0) counts.failed = 1;
      if (status === 0 && counts.passed === 0) counts.passed = 1;
      done(counts);
    }),
  );
}

const results = [];
for (const name of named.length > 0 ? named : Object.keys(PARTS)) {
  process.stdout.write(`\n== ${name}\n`);
  const startedMs = performance.now();
  const counts = await run(PARTS[name]);
  results.push({ name, ...counts, minutes: (performance.now() - startedMs) / 60_000 });
}
process.stdout.write('\n');
for (const { name, passed, failed, minutes } of results)
  process.stdout.write(
    `${name.padEnd(11)} ${minutes.toFixed(1)} min, ${failed > 0 ? `${failed} FAILED` : `${passed} passed`}\n`,
  );
const total = (of) => results.reduce((sum, result) => sum + result[of], 0);
process.stdout.write(`${total('passed')} passed, ${total('failed')} failed\n`);
process.exitCode = total('failed') === 0 ? 0 : 1;
