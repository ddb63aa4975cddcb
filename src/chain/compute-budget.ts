/** Compute-budget instructions: what a transaction may use and what it pays for it. How much is decided by callers. */
import { viewOf } from '../values/bytes.js';
import { LAMPORTS_PER_SIGNATURE } from './account.js';
import { COMPUTE_BUDGET_PROGRAM } from './programs.js';
import type { Instruction } from './transaction/instruction.js';
import {
  DEFAULT_INSTRUCTION_COMPUTE_UNITS,
  MAX_COMPUTE_UNITS,
  MICRO_LAMPORTS_PER_LAMPORT,
} from './transaction/limits.js';
import type { WireMessage } from './transaction/wire.js';

// Instruction numbers of the program (solana-compute-budget-interface, `ComputeBudgetInstruction`).
const REQUEST_HEAP_FRAME = 1;
const SET_COMPUTE_UNIT_LIMIT = 2;
const SET_COMPUTE_UNIT_PRICE = 3;
const SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT = 4;
const LIMIT_LENGTH_BYTES = 5;
const PRICE_LENGTH_BYTES = 9;

/** A compute-budget instruction as decoded; only the two kinds that this project allows. */
export type ComputeBudget =
  | { readonly kind: 'unitLimit'; readonly units: number }
  | { readonly kind: 'unitPrice'; readonly microLamports: bigint };

const instruction = (data: Buffer): Instruction => ({
  program: COMPUTE_BUDGET_PROGRAM,
  accounts: [],
  data,
});

const withNumber = (kind: number, value: number): Instruction => {
  const data = Buffer.alloc(LIMIT_LENGTH_BYTES);
  data[0] = kind;
  data.writeUInt32LE(value, 1);
  return instruction(data);
};

/** Lets the transaction use up to `units` compute units. */
export const setComputeUnitLimit = (units: number): Instruction => withNumber(SET_COMPUTE_UNIT_LIMIT, units);

/** Pays a priority fee of `microLamports` for each compute unit that the transaction may use. */
export function setComputeUnitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(PRICE_LENGTH_BYTES);
  data[0] = SET_COMPUTE_UNIT_PRICE;
  data.writeBigUInt64LE(microLamports, 1);
  return instruction(data);
}

/** Lets the transaction load accounts of up to `bytes` together, programs included. It costs nothing. */
export const setLoadedAccountsDataSizeLimit = (bytes: number): Instruction =>
  withNumber(SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT, bytes);

/** Gives programs a heap of `bytes`. */
export const requestHeapFrame = (bytes: number): Instruction => withNumber(REQUEST_HEAP_FRAME, bytes);

/** The limit or price that an instruction sets, or `undefined` if it is anything else. */
export function decodeComputeBudget({ program, data }: Instruction): ComputeBudget | undefined {
  if (program !== COMPUTE_BUDGET_PROGRAM) return undefined;
  if (data[0] === SET_COMPUTE_UNIT_LIMIT && data.length === LIMIT_LENGTH_BYTES)
    return { kind: 'unitLimit', units: viewOf(data).getUint32(1, true) };
  if (data[0] === SET_COMPUTE_UNIT_PRICE && data.length === PRICE_LENGTH_BYTES)
    return { kind: 'unitPrice', microLamports: viewOf(data).getBigUint64(1, true) };
  return undefined;
}

/** What a transaction may use, and its price. */
export interface TransactionBudget {
  readonly computeUnits: number;
  /** Bytes, or `null` for the usual 32 KiB. */
  readonly heapBytes: number | null;
  /** For each compute unit. */
  readonly microLamports: bigint;
}

/**
 * The budget of a transaction whose compute-budget instructions are valid. Builtin programs have less by default, which nothing
 * here depends on: they use a fixed 150 units a call.
 */
export function budgetOf(instructions: readonly Pick<Instruction, 'program' | 'data'>[]): TransactionBudget {
  let limit: number | null = null;
  let heapBytes: number | null = null;
  let microLamports = 0n;
  for (const { program, data } of instructions) {
    if (program !== COMPUTE_BUDGET_PROGRAM || data.length < LIMIT_LENGTH_BYTES) continue;
    const [kind] = data;
    if (kind === SET_COMPUTE_UNIT_LIMIT) limit = viewOf(data).getUint32(1, true);
    if (kind === REQUEST_HEAP_FRAME) heapBytes = viewOf(data).getUint32(1, true);
    if (kind === SET_COMPUTE_UNIT_PRICE && data.length >= PRICE_LENGTH_BYTES)
      microLamports = viewOf(data).getBigUint64(1, true);
  }
  const others = instructions.filter(({ program }) => program !== COMPUTE_BUDGET_PROGRAM).length;
  const computeUnits = Math.min(limit ?? others * DEFAULT_INSTRUCTION_COMPUTE_UNITS, MAX_COMPUTE_UNITS);
  return { computeUnits, heapBytes, microLamports };
}

/** The budget of a message. */
const budgetOfMessage = ({ staticKeys, instructions }: WireMessage): TransactionBudget =>
  budgetOf(
    instructions.flatMap(({ programIndex, data }) => {
      const program = staticKeys[programIndex];
      return program === undefined ? [] : [{ program, data }];
    }),
  );

/** What a message costs its fee payer in lamports: its signatures, and the compute units that it may use at its price. */
export function feeOf(message: WireMessage): bigint {
  const { computeUnits, microLamports } = budgetOfMessage(message);
  const paid = BigInt(computeUnits) * microLamports;
  const priority = (paid + MICRO_LAMPORTS_PER_LAMPORT - 1n) / MICRO_LAMPORTS_PER_LAMPORT;
  return BigInt(message.signers) * LAMPORTS_PER_SIGNATURE + priority;
}
