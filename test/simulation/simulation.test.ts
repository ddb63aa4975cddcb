/** Runs a few fixed seeds of the simulator in both modes. A failing seed prints the command that repeats it. */
import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** Kinds of worlds, each once; `npm run simulate -- --minutes M` runs more. */
const WORLDS = [
  ['embedded', 4, 1],
  ['remote', 503, 1],
] as const;

/** The simulator replaces clock and random numbers of its process, so it needs its own. */
function simulate(
  mode: string,
  seed: number,
  count: number,
): Promise<{ exit: number | null; output: string }> {
  const program = ['test/conformance/run-typescript.mjs', 'test/simulation/run.ts'];
  const words = ['--seed', String(seed), '--count', String(count), '--mode', mode];
  const child = spawn(process.execPath, [...program, ...words]);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  return new Promise((done) => child.once('close', (exit) => done({ exit, output })));
}

describe('a simulated world', () => {
  it.concurrent.each(WORLDS)('keeps what was promised: %s from seed %i', async (mode, seed, count) => {
    const { exit, output } = await simulate(mode, seed, count);
    expect({ exit, output }).toEqual({ exit: 0, output: expect.stringContaining(`${count} worlds`) });
  });
});
