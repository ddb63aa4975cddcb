/** What a transaction may use: compute units and heap, from its compute-budget instructions or by default. */
import { viewOf } from '../../../values/bytes.js';
import { COMPUTE_BUDGET_PROGRAM } from '../../programs.js';
import type { Instruction } from '../../transaction/instruction.js';
import { DEFAULT_INSTRUCTION_COMPUTE_UNITS, MAX_COMPUTE_UNITS } from '../../transaction/limits.js';

// Instruction numbers of the program (solana-compute-budget-interface, `ComputeBudgetInstruction`).
const REQUEST_HEAP_FRAME = 1;
const SET_COMPUTE_UNIT_LIMIT = 2;

export interface TransactionBudget {
  readonly computeUnits: number;
  /** Bytes, or `null` for the usual 32 KiB. */
  readonly heapBytes: number | null;
}

/** Builtin programs have less by default, which nothing here depends on: they use a fixed 150 units a call. */
const usesDefaultUnits = ({ program }: Instruction): boolean => program !== COMPUTE_BUDGET_PROGRAM;

/** Reads the budget of a transaction whose compute-budget instructions have been found valid. */
export function readBudget(instructions: readonly Instruction[]): TransactionBudget {
  let computeUnits: number | null = null;
  let heapBytes: number | null = null;
  for (const { program, data } of instructions) {
    if (program !== COMPUTE_BUDGET_PROGRAM || data.length < 5) continue;
    const value = viewOf(data).getUint32(1, true);
    if (data[0] === SET_COMPUTE_UNIT_LIMIT) computeUnits = value;
    if (data[0] === REQUEST_HEAP_FRAME) heapBytes = value;
  }
  const byDefault = instructions.filter(usesDefaultUnits).length * DEFAULT_INSTRUCTION_COMPUTE_UNITS;
  return { computeUnits: Math.min(computeUnits ?? byDefault, MAX_COMPUTE_UNITS), heapBytes };
}

const budgetInstruction = (kind: number, value: number): Instruction => {
  const data = Buffer.alloc(5);
  data[0] = kind;
  data.writeUInt32LE(value, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
};

/** The compute-budget instructions that give a run this budget. */
export function budgetInstructions({ computeUnits, heapBytes }: TransactionBudget): readonly Instruction[] {
  const limit = budgetInstruction(SET_COMPUTE_UNIT_LIMIT, computeUnits);
  return heapBytes === null ? [limit] : [limit, budgetInstruction(REQUEST_HEAP_FRAME, heapBytes)];
}
