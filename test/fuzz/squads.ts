/**
 * `npm run ci:long -- fuzz`: random transactions on random multisigs for a limited time. FUZZ_SECONDS limits it (60), FUZZ_SEED
 * repeats a run. With SQUADS_PROGRAM, every transaction runs on the real program too, and a shrunken difference is written as a
 * vector into FUZZ_FOUND_DIR (test/fuzz/found). Without it, only invariants are checked. Exit code 1 after a finding.
 */

import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRun, REAL_PROGRAM, toResult } from '../conformance/squads/adapter.js';
import { differences } from '../conformance/squads/replay.js';
import type { Vector, VectorAccount } from '../conformance/squads/vector.js';
import { meddle } from './choose.js';
import { losers, problemOf } from './invariants.js';
import { knownDifference } from './known-differences.js';
import {
  type AccountState,
  decodeTransaction,
  type ExecutionResult,
  instructionsOf,
  Runtime,
  resolveAccounts,
  vaultAddress,
} from './program.js';
import { Random } from './random.js';
import { shrink } from './shrink.js';
import { type Plan, randomPlan, sign } from './transaction.js';
import { VoteBook } from './vote-book.js';
import { World } from './world.js';

const STEPS_AN_EPISODE = 150;

const seconds = Number(process.env['FUZZ_SECONDS'] ?? 60);
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const folder = process.env['FUZZ_FOUND_DIR'] ?? 'test/fuzz/found';

const native = new Runtime();
const nativeRun = createRun(null);
const real = REAL_PROGRAM === null ? null : new Runtime({ squadsProgram: REAL_PROGRAM });
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
  if (real === null) return { problems: [] };
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
  const broken = problemOf(world, result);
  const own = broken === null ? spoiled : [broken, ...spoiled];
  return { bytes, result, ...(own.length > 0 ? { problems: own } : besideReal(world, bytes, result)) };
}

function report(world: World, plan: Plan, found: readonly string[], step: string): never {
  const small = shrink(plan, (candidate) => (judge(world, candidate)?.problems.length ?? 0) > 0);
  const bytes = sign(world, small) ?? new Uint8Array(0);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `seed-${seed}-${step}.json`);
  const vector = asVector(world, bytes, run(real ?? native, world, bytes), `fuzz/seed-${seed}-${step}`);
  writeFileSync(file, `${JSON.stringify([vector], null, 1)}\n`);
  process.stdout.write(
    `FOUND at ${step}, seed ${seed}; written to ${file}\n${found.map((line) => `  ${line}\n`).join('')}`,
  );
  process.exit(1);
}

/** A vault loses lamports only by an execution with enough votes. */
function vaultProblem(
  world: World,
  book: VoteBook,
  bytes: Uint8Array,
  result: ExecutionResult,
): string | null {
  if (result.error !== null || world.isSpoiled) return null;
  const { message } = decodeTransaction(bytes);
  const instructions = instructionsOf(message, resolveAccounts(message, world)) ?? [];
  const told = instructions.map(({ program: called, accounts, data }) => ({
    program: called,
    accounts: accounts.map(({ address }) => address),
    data,
  }));
  const read = (address: Parameters<World['get']>[0]) =>
    world.get(address) ?? result.changes.get(address) ?? null;
  const wrong = book.record(told, read);
  if (wrong !== null) return wrong;
  const vaults = new Set(
    world.multisigs.flatMap(({ address }) => [
      vaultAddress(address, 0).address,
      vaultAddress(address, 1).address,
    ]),
  );
  const executes = result.logs.some((line) =>
    /Instruction: (BatchExecute|VaultTransactionExecute)/.test(line),
  );
  const robbed = losers(world, result).find((address) => vaults.has(address));
  return robbed === undefined || executes ? null : `vault ${robbed} lost lamports without an execution`;
}

const endOf = ({ error }: ExecutionResult): string =>
  JSON.stringify(toResult(error)).replace(/"(instruction|accountIndex)":\d+,?/g, '');

function episode(random: Random, number: number, deadline: number): number {
  const world = new World(random, BigInt((number + 1) * STEPS_AN_EPISODE));
  const book = new VoteBook();
  let count = 0;
  for (let step = 0; step < STEPS_AN_EPISODE && Date.now() < deadline; step += 1) {
    if (random.oneIn(5)) meddle(world);
    const plan = randomPlan(world, (bytes) => run(native, world, bytes));
    const verdict = judge(world, plan);
    if (verdict === undefined) continue;
    const { bytes, result, known } = verdict;
    const end = known ?? endOf(result);
    ends.set(end, (ends.get(end) ?? 0) + 1);
    if (known !== undefined) continue;
    const robbery = vaultProblem(world, book, bytes, result);
    const found = robbery === null ? verdict.problems : [...verdict.problems, robbery];
    if (found.length > 0) report(world, plan, found, `${number}-${step}`);
    world.commit(result);
    world.tick();
    count += 1;
  }
  return count;
}

process.stdout.write(
  `seed ${seed}, ${seconds} seconds, ${real === null ? 'invariants' : 'native against real'}\n`,
);
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
