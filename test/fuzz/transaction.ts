/** Random transactions: a few instructions, a fee payer, sometimes a budget, a lookup table, a wrong signature. */

import { transfer } from '../../src/chain/system.js';
import { compileLegacyMessage, compileV0Message } from '../../src/chain/transaction/compile.js';
import type { Instruction } from '../../src/chain/transaction/instruction.js';
import { decodeMessage, encodeTransaction, type WireMessage } from '../../src/chain/transaction/wire.js';
import type { Address } from '../../src/values/address.js';
import { randomInstruction } from './choose.js';
import { memo, unitLimit, unitPrice } from './pieces.js';
import type { World } from './world.js';

const NO_BLOCKHASH = '11111111111111111111111111111111';
const MAX_KEYS = 64;

/** A transaction before it is signed, so that it can be made smaller and signed again. */
export interface Plan {
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
  readonly versioned: boolean;
  /** Signature to spoil, or `null`. */
  readonly spoiled: number | null;
}

function extras(world: World): Instruction[] {
  const { random } = world;
  const list: Instruction[] = [];
  if (random.oneIn(6)) list.push(unitLimit(1_000_000));
  if (random.oneIn(8)) list.push(unitPrice(BigInt(random.below(100_000))));
  if (random.oneIn(10)) list.push(memo('beside', []));
  if (random.oneIn(10)) {
    const from = world.wallet().address;
    list.push(transfer({ from, to: world.anyAddress(), lamports: BigInt(random.below(3_000_000)) }));
  }
  return list;
}

/** One to three Squads instructions on the world as it stands, and whatever stands beside them. */
export function randomPlan(world: World): Plan {
  const { random } = world;
  const count = random.oneIn(4) ? 1 + random.below(3) : 1;
  const squads = Array.from({ length: count }, () => randomInstruction(world));
  return {
    payer: world.wallet().address,
    instructions: random.oneIn(3)
      ? random.shuffled([...extras(world), ...squads])
      : [...extras(world), ...squads],
    versioned: random.oneIn(3),
    spoiled: random.oneIn(300) ? 0 : null,
  };
}

/** Signs with the wallets of the world; `undefined` when one is asked for whose key nobody has, or it is too large. */
export function sign(world: World, plan: Plan): Uint8Array | undefined {
  const compile = plan.versioned ? compileV0Message : compileLegacyMessage;
  const input = { payer: plan.payer, instructions: plan.instructions, blockhash: NO_BLOCKHASH };
  const bytes = compile(input);
  const message: WireMessage = decodeMessage(bytes);
  if (message.staticKeys.length > MAX_KEYS) return undefined;
  const signatures: Uint8Array[] = [];
  for (const key of message.staticKeys.slice(0, message.requiredSignatures)) {
    const signer = world.signers.find(({ address }) => address === key);
    if (signer === undefined) return undefined;
    const signature = Uint8Array.from(signer.sign(bytes));
    if (plan.spoiled === signatures.length) signature[7] = (signature[7] ?? 0) ^ 1;
    signatures.push(signature);
  }
  return encodeTransaction(signatures, bytes);
}
