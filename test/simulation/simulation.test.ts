/** A few fixed seeds of the simulator, in both modes. A seed that breaks prints how to see it again. */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Every kind of world once in each mode; more are for `npm run simulate -- --minutes M`. */
const COUNT = 7;
const FIRST_SEEDS = [
  ['embedded', 1],
  ['remote', 501],
] as const;
// Below node_modules, so that packages left external are found from there.
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

/** The program takes over the clock and the random numbers of its process, so that it has one of its own. */
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
