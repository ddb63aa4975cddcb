/** Runs a fixed seed of the simulator, in both modes. A failing seed prints the command that repeats it. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

/** Two worlds with many faults; `npm run simulate -- --minutes M` runs more. */
const SEED = 6;

it('two simulated worlds keep what was promised', async () => {
  // The simulator replaces clock and random numbers of its process, so it needs its own.
  const program = ['test/conformance/run-typescript.mjs', 'test/simulation/run.ts'];
  const child = spawn(process.execPath, [...program, '--seed', String(SEED), '--count', '1']);
  const ended = new Promise((done) => child.once('close', done));
  const [output, problems, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  expect({ exit, problems, output }).toEqual({
    ...{ exit: 0, problems: '', output: expect.stringContaining('2 worlds') },
  });
});
