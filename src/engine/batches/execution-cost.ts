/** What running a vault message costs: compute units, instructions counted with their inner calls, memory of the multisig program. */
import type { OperationCost } from '../../actions/action.js';
import { operationCost } from '../../actions/registry.js';
import { ASSOCIATED_TOKEN_PROGRAM } from '../../chain/programs.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import { DEFAULT_INSTRUCTION_COMPUTE_UNITS, MAX_COMPUTE_UNITS } from '../../chain/transaction/limits.js';

const EMPTY_MESSAGE_COMPUTE_UNITS = 40_000;
/** Accounts up to which the default of 200,000 units is known to do (squads-v4.md, section 10). */
const ACCOUNTS_WITHIN_DEFAULT = 4;
const MEASURED_EMPTY_UNITS = 20_000;

const total = (instructions: readonly Instruction[], part: keyof OperationCost): number =>
  instructions.reduce((sum, instruction) => sum + operationCost(instruction)[part], 0);

/** The limit that the execute transaction of these instructions should set, or `null` when the default will do. */
export function executeComputeUnitLimit(instructions: readonly Instruction[]): number | null {
  const opened = instructions.filter(({ program }) => program === ASSOCIATED_TOKEN_PROGRAM).length;
  const measured = MEASURED_EMPTY_UNITS + total(instructions, 'measuredUnits');
  if (opened <= ACCOUNTS_WITHIN_DEFAULT && measured <= DEFAULT_INSTRUCTION_COMPUTE_UNITS) return null;
  return Math.min(MAX_COMPUTE_UNITS, EMPTY_MESSAGE_COMPUTE_UNITS + total(instructions, 'computeUnits'));
}

/** The multisig's own instruction, and those which set the limit and the price. */
const OUTER_INSTRUCTIONS = 3;

/** Instructions that the execute transaction of these runs at most. */
export const instructionTrace = (instructions: readonly Instruction[]): number =>
  OUTER_INSTRUCTIONS + total(instructions, 'trace');

/**
 * The part of the heap, 1 being all of it, that running these instructions takes at most. A call copies its data too, but the
 * limit of a transaction's bytes comes before data of more than the 256 bytes that were measured could count.
 */
export const heapShare = (instructions: readonly Instruction[]): number => total(instructions, 'heapShare');
