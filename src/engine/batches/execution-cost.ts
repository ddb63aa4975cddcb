/** What running a vault message costs: compute units, instructions counted with their inner calls, memory of the multisig program. */
import { ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM } from '../../chain/programs.js';
import { TOKEN_INSTRUCTION } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import { DEFAULT_INSTRUCTION_COMPUTE_UNITS, MAX_COMPUTE_UNITS } from '../../chain/transaction/limits.js';

type Kind = 'memo' | 'create' | 'transfer' | 'burn';

function kindOf({ program, data }: Instruction): Kind {
  if (program === MEMO_PROGRAM) return 'memo';
  if (program === ASSOCIATED_TOKEN_PROGRAM) return 'create';
  return data[0] === TOKEN_INSTRUCTION.transferChecked ? 'transfer' : 'burn';
}

/**
 * Compute units, generously: about twice the highest of squads-v4.md, section 10 (Token-2022: burn 6,400, transfer 6,500,
 * create and transfer 29,000, memo 4,000, empty message 20,000); opening an account also holds its 20,000 for an unlucky search.
 */
const COMPUTE_UNITS: Readonly<Record<Kind, number>> = {
  memo: 8_000,
  burn: 12_000,
  transfer: 13_000,
  create: 65_000,
};
const EMPTY_MESSAGE_COMPUTE_UNITS = 40_000;
/** Accounts up to which the default of 200,000 units is known to do (squads-v4.md, section 10). */
const ACCOUNTS_WITHIN_DEFAULT = 4;
/** The same table per operation at its highest, for messages that open few accounts. */
const MEASURED_UNITS: Readonly<Record<Kind, number>> = {
  memo: 4_000,
  burn: 6_400,
  transfer: 6_500,
  create: 24_000,
};
const MEASURED_EMPTY_UNITS = 20_000;

const total = (instructions: readonly Instruction[], cost: Readonly<Record<Kind, number>>): number =>
  instructions.reduce((units, instruction) => units + cost[kindOf(instruction)], 0);

/** The limit that the execute transaction of these instructions should set, or `null` when the default will do. */
export function executeComputeUnitLimit(instructions: readonly Instruction[]): number | null {
  const opened = instructions.filter((instruction) => kindOf(instruction) === 'create').length;
  const measured = MEASURED_EMPTY_UNITS + total(instructions, MEASURED_UNITS);
  if (opened <= ACCOUNTS_WITHIN_DEFAULT && measured <= DEFAULT_INSTRUCTION_COMPUTE_UNITS) return null;
  return Math.min(MAX_COMPUTE_UNITS, EMPTY_MESSAGE_COMPUTE_UNITS + total(instructions, COMPUTE_UNITS));
}

/** Instructions with their inner calls: opening an account takes 5, anything else 1 (squads-v4.md, section 10). */
const TRACE: Readonly<Record<Kind, number>> = { memo: 1, burn: 1, transfer: 1, create: 5 };
/** The multisig's own instruction and that which sets the limit. */
const OUTER_INSTRUCTIONS = 2;

/** Instructions that the execute transaction of these runs at most. */
export const instructionTrace = (instructions: readonly Instruction[]): number =>
  OUTER_INSTRUCTIONS + total(instructions, TRACE);

/**
 * Shares of the multisig program's heap of 32 KiB. The greatest numbers that ran are 25 burns, 17 transfers, 8 times create
 * and transfer, and a memo of up to 256 bytes takes the place of one burn (squads-v4.md, section 10).
 */
const HEAP_SHARE: Readonly<Record<Kind, number>> = {
  memo: 1 / 25,
  burn: 1 / 25,
  transfer: 1 / 17,
  create: 1 / 8 - 1 / 17,
};
const MEASURED_MEMO_BYTES = 256;
/** A call copies its data: four bytes of heap for each further byte of a memo, which is more than it takes. */
const HEAP_SHARE_PER_BYTE = 4 / 32_768;

/** The part of the heap, 1 being all of it, that running these instructions takes at most. */
export function heapShare(instructions: readonly Instruction[]): number {
  const further = instructions.map(({ data }) => Math.max(0, data.length - MEASURED_MEMO_BYTES));
  const base = total(instructions, HEAP_SHARE);
  return further.reduce((share, bytes) => share + bytes * HEAP_SHARE_PER_BYTE, base);
}
