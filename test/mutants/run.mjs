/**
 * Puts known bugs and small mutants into the source, one at a time, and runs the suite that has to find each. The source tree
 * stays unchanged. `node test/mutants/run.mjs [NAME…] [--sample N] [--seeds N]`: NAME is `known-bugs`, `squads`, a known bug or a
 * file; every Nth mutant of a file is tried; a bug counts as missed after this many seeds of the simulator.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { context } from 'esbuild';
import { bundleOf } from '../support/bundle.mjs';
import { mutantsOf } from './operators.mjs';

const SQUADS = 'src/chain/local/squads';
const TIMEOUT_MS = 60_000;
/** Each seed is two worlds, embedded and remote. */
const { values, positionals: names } = parseArgs({
  options: { sample: { type: 'string', default: '1' }, seeds: { type: 'string', default: '200' } },
  allowPositionals: true,
});

const SUITES = {
  simulation: {
    entry: 'test/simulation/run.ts',
    words: ['--seed', '1', '--count', values.seeds],
    soundWords: ['--seed', '1', '--count', '7'],
    found: ({ stdout }) => /^seed \d+ \(\w+\) breaks .*$/m.exec(stdout)?.[0].slice(0, 160),
  },
  squads: {
    entry: 'test/mutants/squads-check.ts',
    words: [],
    soundWords: [],
    timeout: TIMEOUT_MS,
    found: ({ status }) => (status === 0 ? undefined : 'vectors or cases'),
  },
};

const list = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
const explained = list('explained.json');

/** The changed text of each file, or the part that no longer occurs exactly once. */
function withBug({ changes }) {
  const texts = new Map();
  for (const { file, right, wrong } of changes) {
    let text = texts.get(file);
    try {
      text ??= readFileSync(file, 'utf8');
    } catch {
      return { gone: file };
    }
    if (text.split(right).length !== 2) return { gone: `${file}: ${right}` };
    texts.set(
      file,
      text.replace(right, () => wrong),
    );
  }
  return { texts };
}

function squadsMutants() {
  let files;
  try {
    files = readdirSync(SQUADS).filter((name) => name.endsWith('.ts'));
  } catch {
    return [{ name: SQUADS, suite: 'squads', gone: SQUADS }];
  }
  return files
    .map((name) => join(SQUADS, name))
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      return mutantsOf(file, text).map(({ line, start, end, was, replacement }) => {
        const name = `${file}:${line}  ${was.replaceAll(/\s+/g, ' ').slice(0, 70)}  →  ${replacement.slice(0, 70)}`;
        const texts = new Map([[file, text.slice(0, start) + replacement + text.slice(end)]]);
        const why = explained.find((one) => one.was === was && one.becomes === replacement)?.why;
        return { name, group: file, suite: 'squads', texts, why };
      });
    })
    .filter((_, at) => at % Number(values.sample) === 0);
}

const bugs = list('known-bugs.json').map((bug) => ({
  group: 'known-bugs',
  ...bug,
  ...withBug(bug),
}));
const isWanted = ({ name, group, suite }) =>
  names.length === 0 || names.some((one) => [name, group, suite === 'squads' && suite].includes(one));
const mutants = [...bugs, ...squadsMutants()].filter(isWanted);
if (mutants.length === 0) throw new Error(`There is no bug, file or group of this name: ${names.join(', ')}`);

let texts = new Map();
const putIn = {
  name: 'put-in',
  setup(build) {
    build.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const found = [...texts].find(([file]) => resolve(file) === path);
      return found === undefined ? undefined : { contents: found[1], loader: 'ts' };
    });
  },
};

async function openSuite({ entry, words, soundWords, timeout, found }) {
  const bundle = bundleOf(entry);
  const bundler = await context({ ...bundle, logLevel: 'silent', plugins: [putIn] });
  return {
    /** @returns how the suite finds the change, or `undefined` if it does not. */
    async find(changed) {
      texts = changed ?? new Map();
      try {
        await bundler.rebuild();
      } catch {
        return 'does not build';
      }
      return found(
        spawnSync(process.execPath, [bundle.outfile, ...(changed === undefined ? soundWords : words)], {
          timeout,
          encoding: 'utf8',
        }),
      );
    },
    close: () => bundler.dispose(),
  };
}

const suites = new Map();
for (const name of new Set(mutants.map(({ suite }) => suite)))
  suites.set(name, await openSuite(SUITES[name]));
const say = (line) => void process.stdout.write(`${line}\n`);
let [passed, failed] = [0, 0];
// A suite that fails without a mutant proves nothing.
for (const [name, suite] of suites) {
  const found = await suite.find();
  if (found === undefined) continue;
  say(`The suite ${name} fails as it is: ${found}`);
  failed += 1;
}
for (const { name, group, suite, gone, texts: changed, why } of failed > 0 ? [] : mutants) {
  const found = gone === undefined ? await suites.get(suite).find(changed) : undefined;
  if (found !== undefined || why !== undefined) passed += 1;
  else failed += 1;
  if (gone !== undefined) say(`to be written again: ${name}: ${gone}`);
  else if (group === 'known-bugs')
    say(`${found === undefined ? 'MISSED' : 'found '} ${name}: ${found ?? ''}`);
  else if (found === undefined) say(`${why === undefined ? 'MISSED' : `survives, since it ${why}:`} ${name}`);
}
for (const suite of suites.values()) await suite.close();
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
