/**
 * `npm run ci:long -- torture [part …] [--seed N] [--minutes N]`: random misuse of the whole program, part by part, for a limited
 * time. Without parts, all parts take turns and share the time. A seed repeats the choices, not the order in which the machine
 * executes them. Exit code 1, with the seed, after a finding.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Random } from '../fuzz/random.js';
import { tortureMachines } from './machines.js';
import type { TorturePart } from './part.js';
import { tortureSoak } from './soak.js';

const PARTS: Readonly<Record<string, TorturePart>> = {
  machines: tortureMachines,
  soak: tortureSoak,
};

const MINUTE_MS = 60_000;
const MAX_SEED = 2 ** 31;

const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, minutes: { type: 'string' } },
  allowPositionals: true,
});
const seed = Number(values.seed ?? randomInt(MAX_SEED));
const minutes = Number(values.minutes ?? 1);
const wanted = positionals.length === 0 ? Object.keys(PARTS) : positionals;
const unknown = wanted.filter((name) => !Object.hasOwn(PARTS, name));
const isWrong = !Number.isSafeInteger(seed) || !(minutes > 0) || unknown.length > 0;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function torture(name: string, part: TorturePart): Promise<boolean> {
  const random = new Random(seed);
  const untilMs = performance.now() + (minutes * MINUTE_MS) / wanted.length;
  let rounds = 0;
  let report: string | undefined;
  try {
    const opened = await part.open(seed);
    try {
      do {
        await opened.round(random);
        rounds += 1;
      } while (performance.now() < untilMs);
    } finally {
      report = opened.report?.();
      await opened.close();
    }
  } catch (error) {
    say(
      `FOUND ${name}, round ${rounds + 1}: npm run ci:long -- torture ${name} --seed ${seed} --minutes ${minutes}`,
    );
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (report !== undefined) say(`Before that: ${report}`);
    return false;
  }
  say(`ok    ${name}: ${rounds} rounds of ${part.of}`);
  if (report !== undefined) say(report);
  return true;
}

if (isWrong) {
  say(`Usage: npm run ci:long -- torture [${Object.keys(PARTS).join(' | ')} …] [--seed N] [--minutes N]`);
  process.exitCode = 2;
} else {
  say(`seed ${seed}, ${minutes} min`);
  let failed = 0;
  for (const name of wanted) {
    const part = PARTS[name];
    if (part !== undefined && !(await torture(name, part))) failed += 1;
  }
  say(`${wanted.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
