/**
 * Runs seeds of the simulator: `npm run simulate -- [--seed S] [--count N | --minutes M] [--mode embedded|remote] [--kind NAME]
 * [--verbose]`.
 */
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { kindOf } from './kinds.js';
import { takePlatform } from './platform.js';
import { type RunOptions, runWorld } from './world.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string' },
    minutes: { type: 'string' },
    mode: { type: 'string' },
    kind: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const first = values.seed === undefined ? Date.now() % 1_000_000_000 : Number(values.seed);
const minutes = values.minutes === undefined ? null : Number(values.minutes);
const count =
  values.count === undefined ? (minutes === null ? 1 : Number.POSITIVE_INFINITY) : Number(values.count);
const modes: readonly RunOptions['mode'][] =
  values.mode === undefined ? ['embedded', 'remote'] : [values.mode === 'remote' ? 'remote' : 'embedded'];

takePlatform();
setFlagsFromString('--expose-gc');
/** The driver closes the files of a closed connection only when the statements of the connection are collected. */
const collect: () => void = runInNewContext('gc');
const startedMs = performance.now();
const isOver = (): boolean => minutes !== null && performance.now() - startedMs > minutes * 60_000;
const totals = { runs: 0, steps: 0, faults: 0, actions: 0, broken: 0 };

/** @returns whether to continue. */
async function runOne(options: RunOptions): Promise<boolean> {
  const result = await runWorld({ ...options, ...(values.verbose ? { say } : {}) });
  collect();
  totals.runs += 1;
  totals.steps += result.steps;
  totals.faults += result.faults;
  totals.actions += result.actions;
  if (result.broken === null) return true;
  totals.broken += 1;
  say(
    `seed ${options.seed} (${options.mode}) breaks after ${result.steps} steps in a world of "${result.kind}": ${result.broken.stack ?? ''}`,
  );
  say(`again: npm run simulate -- --seed ${options.seed} --mode ${options.mode} --verbose`);
  return false;
}

async function main(): Promise<void> {
  for (let at = 0; at < count && !isOver(); at += 1) {
    for (const mode of modes) {
      if (values.kind !== undefined && kindOf(first + at, mode).name !== values.kind) continue;
      if (!(await runOne({ seed: first + at, mode }))) return;
    }
  }
}

await main();
const seconds = (performance.now() - startedMs) / 1_000;
say(
  `${totals.runs} worlds from seed ${first} in ${seconds.toFixed(1)} s: ${totals.steps} steps, ${totals.actions} actions, ${totals.faults} faults, ${totals.broken} broken.`,
);
process.exitCode = totals.broken === 0 ? 0 : 1;
