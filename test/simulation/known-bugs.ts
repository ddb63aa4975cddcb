/**
 * Puts bugs that were once there back, one at a time, and counts the worlds until the simulator finds each: a simulator that
 * finds none of what is known proves nothing. `npm run simulate:known-bugs [-- SEEDS] [NAME…]`; nothing in the source tree
 * changes.
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { KNOWN_BUGS, type KnownBug, withBug } from './bugs.js';

/** Worlds after which a bug counts as not found; each seed is two, embedded and remote. */
const MAX_SEEDS = 200;
const CACHE = resolve('node_modules/.cache/flywheel');

const plugin = (bug: KnownBug): Plugin => ({
  name: 'known-bug',
  setup(builder) {
    for (const file of new Set(bug.changes.map(([where]) => where))) {
      const filter = new RegExp(`${file.replaceAll('.', '\\.')}$`);
      builder.onLoad({ filter }, () => ({ contents: withBug(bug, file), loader: 'ts' }));
    }
  },
});

async function buildWith(bug: KnownBug): Promise<string> {
  const outfile = join(CACHE, `known-bug-${bug.name}.mjs`);
  await build({
    entryPoints: ['test/simulation/run.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['litesvm-*', 'esbuild'],
    logLevel: 'warning',
    plugins: [plugin(bug)],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  return outfile;
}

/** Runs seeds from 1 until one breaks. @returns what the simulator printed. */
function hunt(program: string, seeds: string): Promise<string> {
  const child = spawn(process.execPath, [program, '--seed', '1', '--count', seeds], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  return new Promise((done) => child.once('close', () => done(output)));
}

const words = process.argv.slice(2);
const names = words.filter((word) => !/^\d+$/.test(word));
const seeds = words.find((word) => /^\d+$/.test(word)) ?? String(MAX_SEEDS);
let missed = 0;
for (const bug of KNOWN_BUGS.filter(({ name }) => names.length === 0 || names.includes(name))) {
  const program = await buildWith(bug);
  const output = await hunt(program, seeds);
  rmSync(program);
  const found = /^seed (\d+) \((\w+)\) breaks after \d+ steps in a world of (.*): Error: (.*)$/m.exec(output);
  const worlds = /^(\d+) worlds .* in ([\d.]+) s/m.exec(output);
  if (found === null) missed += 1;
  const how =
    found === null ? 'NOT FOUND' : `seed ${found[1]} (${found[2]}): ${found[3]}, ${found[4]?.slice(0, 90)}`;
  process.stdout.write(`${bug.name}: ${worlds?.[1]} worlds, ${worlds?.[2]} s; ${how}\n`);
}
process.exitCode = missed === 0 ? 0 : 1;
