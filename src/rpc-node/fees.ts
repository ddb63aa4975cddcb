/** What a transaction costs beyond its signatures: limit and price from its compute-budget instructions. */
import { LAMPORTS_PER_SIGNATURE } from '../chain/account.js';
import { decodeComputeBudget } from '../chain/compute-budget.js';
import { COMPUTE_BUDGET_PROGRAM } from '../chain/programs.js';
import { DEFAULT_INSTRUCTION_COMPUTE_UNITS, MAX_COMPUTE_UNITS } from '../chain/transaction/limits.js';
import type { WireMessage } from '../chain/transaction/wire.js';

const MICRO = 1_000_000n;

/** Compute units that a message may use, and what it pays for each. */
export function budgetOf({ staticKeys, instructions }: WireMessage): {
  readonly units: number;
  readonly microLamports: bigint;
} {
  let units: number | null = null;
  let microLamports = 0n;
  let others = 0;
  for (const { programIndex, data } of instructions) {
    const program = staticKeys[programIndex];
    if (program !== COMPUTE_BUDGET_PROGRAM) others += 1;
    else {
      const budget = decodeComputeBudget({ program, accounts: [], data });
      if (budget?.kind === 'unitLimit') units = budget.units;
      if (budget?.kind === 'unitPrice') microLamports = budget.microLamports;
    }
  }
  const byDefault = others * DEFAULT_INSTRUCTION_COMPUTE_UNITS;
  return { units: Math.min(units ?? byDefault, MAX_COMPUTE_UNITS), microLamports };
}

/** Lamports that a message costs its fee payer. */
export function feeOf(message: WireMessage): bigint {
  const { units, microLamports } = budgetOf(message);
  const priority = (BigInt(units) * microLamports + MICRO - 1n) / MICRO;
  return BigInt(message.requiredSignatures) * LAMPORTS_PER_SIGNATURE + priority;
}
