/**
 * `npm run ci:long -- torture [--seed N] [--minutes N]`: random misuse of three servers for a limited time. A seed repeats the
 * choices, not the order in which the machine executes them. Exit code 1, with the seed, after a finding.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Random } from '../fuzz/random.js';
import { openTorture, ROUND } from './machines.js';

const MINUTE_MS = 60_000;
const MAX_SEED = 2 ** 31;

const { values } = parseArgs({ options: { seed: { type: 'string' }, minutes: { type: 'string' } } });
const seed = Number(values.seed ?? randomInt(MAX_SEED));
const minutes = Number(values.minutes ?? 1);

const say = (text: string): void => void process.stdout.write(`${text}\n`);

let rounds = 0;
let report = '';

async function torture(): Promise<void> {
  const random = new Random(seed);
  const untilMs = performance.now() + minutes * MINUTE_MS;
  const opened = await openTorture(seed);
  try {
    do {
      await opened.round(random);
      rounds += 1;
    } while (performance.now() < untilMs);
  } finally {
    report = opened.report();
    await opened.close();
  }
}

if (!Number.isSafeInteger(seed) || !(minutes > 0)) {
  say('Usage: npm run ci:long -- torture [--seed N] [--minutes N]');
  process.exitCode = 2;
} else {
  say(`seed ${seed}, ${minutes} min`);
  const problem = await torture().then(
    () => null,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  if (problem === null) say(`ok    ${rounds} rounds of ${ROUND}`);
  else
    say(
      `FOUND in round ${rounds + 1}: npm run ci:long -- torture --seed ${seed} --minutes ${minutes}\n${problem}`,
    );
  say(`${report}\n${problem === null ? '1 passed, 0 failed' : '0 passed, 1 failed'}`);
  process.exitCode = problem === null ? 0 : 1;
}
