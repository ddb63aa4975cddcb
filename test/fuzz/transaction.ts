/**
 * Random transactions: instructions that depend on each other, a fee payer, sometimes a budget, a lookup table, a wrong
 * signature.
 */

import { randomInstruction } from './choose.js';
import { takenFrom } from './messages.js';
import {
  type AccountState,
  type Address,
  compile,
  compileLegacyMessage,
  compileV0Message,
  decodeMessage,
  type ExecutionResult,
  encodeMessage,
  encodeTransaction,
  type Instruction,
  lookedUpCount,
  MAX_TRANSACTION_ACCOUNTS,
  memo,
  requestHeapFrame,
  setComputeUnitLimit,
  setComputeUnitPrice,
  tableEntry,
  transfer,
} from './program.js';
import type { World } from './world.js';

const NO_BLOCKHASH = '11111111111111111111111111111111';

export interface Plan {
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
  readonly versioned: boolean;
  /** Lookup table of a versioned transaction, or `null`. */
  readonly table: Address | null;
  /** Index of the signature to corrupt, or `null`. */
  readonly spoiled: number | null;
}

function extras(world: World): Instruction[] {
  const { random } = world;
  const list: Instruction[] = [];
  if (random.oneIn(6)) list.push(setComputeUnitLimit(1_000_000));
  if (random.oneIn(8)) list.push(setComputeUnitPrice(BigInt(random.below(100_000))));
  if (random.oneIn(25))
    list.push(requestHeapFrame(1_024 * (random.oneIn(8) ? random.below(300) : 32 + random.below(225))));
  if (random.oneIn(60)) list.push(setComputeUnitLimit(random.below(60_000)));
  if (random.oneIn(10)) list.push(memo('beside', []));
  if (random.oneIn(10)) {
    const from = world.wallet().address;
    list.push(transfer({ from, to: world.anyAddress(), lamports: BigInt(random.below(3_000_000)) }));
  }
  return list;
}

type Rehearse = (bytes: Uint8Array) => ExecutionResult;

/** Each instruction is made for the state after the earlier ones; ends with the first failure. Commits nothing. */
function chained(world: World, count: number, rehearse: Rehearse): Instruction[] {
  const made: Instruction[] = [];
  const undo: (readonly [Address, AccountState | null])[] = [];
  const payer = world.wallet().address;
  for (let left = count; left > 0; left -= 1) {
    const instruction = randomInstruction(world);
    made.push(instruction);
    const plan = { payer, instructions: [instruction], versioned: false, table: null, spoiled: null };
    const bytes = sign(world, plan);
    const result = bytes === undefined ? undefined : rehearse(bytes);
    if (result === undefined || result.error !== null) break;
    undo.unshift(...[...result.changes.keys()].map((address) => [address, world.get(address)] as const));
    world.accounts.adopt(result.changes);
  }
  world.accounts.adopt(undo);
  return made;
}

/** Transfers more lamports than exist, which rolls back the instructions before it. */
const impossible = (world: World): Instruction =>
  transfer({ from: world.wallet().address, to: world.wallet().address, lamports: 1n << 60n });

function squadsInstructions(world: World, rehearse: Rehearse): Instruction[] {
  const { random } = world;
  if (!random.oneIn(3)) return [randomInstruction(world)];
  const { multisigs } = world;
  if (multisigs.length > 0 && !random.oneIn(4)) world.stay = random.pick(multisigs);
  const made = chained(world, 2 + random.below(4), rehearse);
  world.stay = undefined;
  return random.oneIn(5) ? [...made, impossible(world)] : made;
}

export function randomPlan(world: World, rehearse: Rehearse): Plan {
  const { random } = world;
  const squads = squadsInstructions(world, rehearse);
  const instructions = random.oneIn(3)
    ? random.shuffled([...extras(world), ...squads])
    : [...extras(world), ...squads];
  const versioned = random.oneIn(3);
  const payer = world.wallet().address;
  return {
    payer,
    instructions,
    versioned,
    table: versioned && random.oneIn(2) ? tableFor(world, payer, instructions) : null,
    spoiled: random.oneIn(300) ? 0 : null,
  };
}

/** A table of about half of the keys that need not be static. */
function tableFor(world: World, payer: Address, instructions: readonly Instruction[]): Address | null {
  const { staticKeys: keys, signers } = compile(payer, instructions);
  const programs = new Set(instructions.map(({ program }) => program));
  const entries = keys.slice(signers).filter((key) => !programs.has(key) && world.random.oneIn(2));
  return entries.length === 0
    ? null
    : world.addTable(world.random.shuffled([...entries, world.anyAddress()]));
}

/** The message, with its table's keys moved out of the static keys. */
function withTable(world: World, { payer, instructions }: Plan, table: Address): Uint8Array {
  const data = world.get(table)?.data ?? new Uint8Array(0);
  const places = Array.from({ length: (data.length - 56) / 32 }, (_, at) => tableEntry(data, at) ?? []);
  const programs = new Set(instructions.map(({ program }) => program));
  const message = takenFrom(table, places.flat(), compile(payer, instructions), (key) => !programs.has(key));
  return encodeMessage({ ...message, version: 0, blockhash: new Uint8Array(32) });
}

/** Signs with the wallets of the world; `undefined` if a key is unknown or the transaction is too large. */
export function sign(world: World, plan: Plan): Uint8Array | undefined {
  const compileFor = plan.versioned ? compileV0Message : compileLegacyMessage;
  const input = { payer: plan.payer, instructions: plan.instructions, blockhash: NO_BLOCKHASH };
  const bytes =
    plan.versioned && plan.table !== null ? withTable(world, plan, plan.table) : compileFor(input);
  const message = decodeMessage(bytes);
  if (message.staticKeys.length + lookedUpCount(message) > MAX_TRANSACTION_ACCOUNTS) return undefined;
  const signatures: Uint8Array[] = [];
  for (const key of message.staticKeys.slice(0, message.signers)) {
    const signer = world.signers.find(({ address }) => address === key);
    if (signer === undefined) return undefined;
    const signature = Uint8Array.from(signer.signNow(bytes));
    if (plan.spoiled === signatures.length) signature[7] = (signature[7] ?? 0) ^ 1;
    signatures.push(signature);
  }
  return encodeTransaction(signatures, bytes);
}
