/**
 * `npm run ci:long -- fuzz`: random transactions on random multisigs for a limited time, on the native and on the real program,
 * which SQUADS_PROGRAM names. FUZZ_SECONDS limits it (60), FUZZ_SEED repeats a run. A difference is written as a vector into
 * FUZZ_FOUND_DIR (test/fuzz/found). Exit code 1 after a finding.
 */

import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRun, REAL_PROGRAM, toResult } from '../conformance/squads/adapter.js';
import { differences } from '../conformance/squads/replay.js';
import type { Vector, VectorAccount } from '../conformance/squads/vector.js';
import { meddle } from './choose.js';
import { knownDifference } from './known-differences.js';
import {
  type AccountState,
  decodeTransaction,
  type ExecutionResult,
  Runtime,
  resolveAccounts,
} from './program.js';
import { Random } from './random.js';
import { type Plan, randomPlan, sign } from './transaction.js';
import { World } from './world.js';

const STEPS_AN_EPISODE = 150;

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 60);
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const folder = process.env['FUZZ_FOUND_DIR'] ?? 'test/fuzz/found';

const native = new Runtime();
const nativeRun = createRun(null);
if (REAL_PROGRAM === null) throw new Error('SQUADS_PROGRAM names no file of the real program.');
const real = new Runtime({ squadsProgram: REAL_PROGRAM });
const ends = new Map<string, number>();

const fromState = (state: AccountState | null): VectorAccount | null =>
  state === null
    ? null
    : {
        lamports: String(state.lamports),
        owner: state.owner,
        executable: state.executable,
        data: Buffer.from(state.data).toString('base64'),
      };

function asVector(world: World, bytes: Uint8Array, result: ExecutionResult, name: string): Vector {
  const { message } = decodeTransaction(bytes);
  const named = [
    ...resolveAccounts(message, world).map(({ address }) => address),
    ...message.lookups.map(({ table }) => table),
    ...result.changes.keys(),
  ];
  return {
    name,
    clock: {
      slot: String(world.clock.slot),
      epoch: String(world.clock.epoch),
      unixTimestamp: String(world.clock.unixTimestamp),
    },
    transaction: Buffer.from(bytes).toString('base64'),
    pre: Object.fromEntries(named.map((address) => [address, fromState(world.get(address))])),
    post: Object.fromEntries([...result.changes].map(([address, state]) => [address, fromState(state)])),
    result: toResult(result.error),
    logs: result.logs,
    computeUnits: Number(result.computeUnits),
  };
}

function run(runtime: Runtime, world: World, bytes: Uint8Array): ExecutionResult {
  const sent = Buffer.from(bytes);
  const result = runtime.execute(sent, world, world.clock);
  // A sender reuses the buffer after the transaction has run.
  sent.fill(0xff);
  return result;
}

/** The effect of a plan on the present world and all violations; nothing is committed. */
interface Verdict {
  readonly bytes: Uint8Array;
  readonly result: ExecutionResult;
  readonly problems: readonly string[];
  /** Name of a known difference; the result is then not compared. */
  readonly known?: string | undefined;
}

/** Unknown differences between the native and the real program. */
function besideReal(
  world: World,
  bytes: Uint8Array,
  result: ExecutionResult,
): Pick<Verdict, 'problems' | 'known'> {
  const expected = run(real, world, bytes);
  const spoiled = world.accounts.changedInPlace();
  if (spoiled.length > 0) return { problems: spoiled };
  const problems = differences(nativeRun, asVector(world, bytes, expected, ''), false);
  const known = problems.length === 0 ? undefined : knownDifference(result, expected);
  return known === undefined ? { problems } : { problems: [], known };
}

/** `undefined` if the plan cannot be signed. */
function judge(world: World, plan: Plan): Verdict | undefined {
  const bytes = sign(world, plan);
  if (bytes === undefined) return undefined;
  const result = run(native, world, bytes);
  const spoiled = world.accounts.changedInPlace();
  return {
    bytes,
    result,
    ...(spoiled.length > 0 ? { problems: spoiled } : besideReal(world, bytes, result)),
  };
}

function report(world: World, bytes: Uint8Array, found: readonly string[], step: string): never {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `seed-${seed}-${step}.json`);
  const vector = asVector(world, bytes, run(real, world, bytes), `fuzz/seed-${seed}-${step}`);
  writeFileSync(file, `${JSON.stringify([vector], null, 1)}\n`);
  process.stdout.write(
    `FOUND at ${step}, seed ${seed}; written to ${file}\n${found.map((line) => `  ${line}\n`).join('')}`,
  );
  process.exit(1);
}

const endOf = ({ error }: ExecutionResult): string =>
  JSON.stringify(toResult(error)).replace(/"(instruction|accountIndex)":\d+,?/g, '');

function episode(random: Random, number: number, deadline: number): number {
  const world = new World(random, BigInt((number + 1) * STEPS_AN_EPISODE));
  let count = 0;
  for (let step = 0; step < STEPS_AN_EPISODE && Date.now() < deadline; step += 1) {
    if (random.oneIn(5)) meddle(world);
    const plan = randomPlan(world, (bytes) => run(native, world, bytes));
    const verdict = judge(world, plan);
    if (verdict === undefined) continue;
    const { bytes, result, problems, known } = verdict;
    const end = known ?? endOf(result);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    if (known !== undefined) continue;
    if (problems.length > 0) report(world, bytes, problems, `${number}-${step}`);
    world.commit(result);
    world.tick();
    count += 1;
  }
  return count;
}

process.stdout.write(`seed ${seed}, ${seconds} seconds\n`);
const random = new Random(seed);
const deadline = Date.now() + seconds * 1_000;
let transactions = 0;
let episodes = 0;
while (Date.now() < deadline) {
  transactions += episode(random, episodes, deadline);
  episodes += 1;
}
for (const [end, times] of [...ends].sort((left, right) => right[1] - left[1]))
  process.stdout.write(`${times}\t${end}\n`);
process.stdout.write(`seed ${seed}: ${transactions} transactions in ${episodes} episodes, nothing found\n`);
