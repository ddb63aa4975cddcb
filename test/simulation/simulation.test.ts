/** Runs a few fixed seeds of the simulator in both modes. A failing seed prints the command that repeats it. */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Covers each kind once in each mode; `npm run simulate -- --minutes M` runs more. */
const COUNT = 7;
const FIRST_SEEDS = [
  ['embedded', 1],
  ['remote', 501],
] as const;
// Below node_modules, so that external packages resolve from there.
const PROGRAM = resolve(`node_modules/.cache/flywheel/simulation-${process.pid}.mjs`);

interface Ended {
  readonly exit: number | null;
  readonly output: string;
}

beforeAll(async () => {
  await build({
    entryPoints: ['test/simulation/run.ts'],
    outfile: PROGRAM,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['litesvm-*', 'esbuild'],
    logLevel: 'warning',
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
});
afterAll(() => rmSync(PROGRAM, { force: true }));

/** The simulator replaces clock and random numbers of its process, so it needs its own. */
function simulate(mode: string, seed: number): Promise<Ended> {
  const words = ['--seed', String(seed), '--count', String(COUNT), '--mode', mode];
  const child = spawn(process.execPath, [PROGRAM, ...words]);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  return new Promise((done) => child.once('close', (exit) => done({ exit, output })));
}

describe('a simulated world', () => {
  it.each(FIRST_SEEDS)('keeps what was promised: %s from seed %i', async (mode, seed) => {
    const { exit, output } = await simulate(mode, seed);
    expect({ exit, output }).toEqual({ exit: 0, output: expect.stringContaining(`${COUNT} worlds`) });
  });
});
