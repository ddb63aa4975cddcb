/** Compute-budget instructions: what a transaction may use and what it pays for it. How much is decided by callers. */
import { viewOf } from '../values/bytes.js';
import { COMPUTE_BUDGET_PROGRAM } from './programs.js';
import type { Instruction } from './transaction/instruction.js';

// Instruction numbers of the program (solana-compute-budget-interface, `ComputeBudgetInstruction`).
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

/** Lets the transaction use up to `units` compute units. */
export function setComputeUnitLimit(units: number): Instruction {
  const data = Buffer.alloc(LIMIT_LENGTH_BYTES);
  data[0] = SET_COMPUTE_UNIT_LIMIT;
  data.writeUInt32LE(units, 1);
  return instruction(data);
}

/** Pays a priority fee of `microLamports` for each compute unit that the transaction may use. */
export function setComputeUnitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(PRICE_LENGTH_BYTES);
  data[0] = SET_COMPUTE_UNIT_PRICE;
  data.writeBigUInt64LE(microLamports, 1);
  return instruction(data);
}

/** Lets the transaction load accounts of up to `bytes` together, programs included. It costs nothing. */
export function setLoadedAccountsDataSizeLimit(bytes: number): Instruction {
  const data = Buffer.alloc(LIMIT_LENGTH_BYTES);
  data[0] = SET_LOADED_ACCOUNTS_DATA_SIZE_LIMIT;
  data.writeUInt32LE(bytes, 1);
  return instruction(data);
}

/** The limit or price that an instruction sets, or `undefined` if it is anything else. */
export function decodeComputeBudget({ program, data }: Instruction): ComputeBudget | undefined {
  if (program !== COMPUTE_BUDGET_PROGRAM) return undefined;
  if (data[0] === SET_COMPUTE_UNIT_LIMIT && data.length === LIMIT_LENGTH_BYTES)
    return { kind: 'unitLimit', units: viewOf(data).getUint32(1, true) };
  if (data[0] === SET_COMPUTE_UNIT_PRICE && data.length === PRICE_LENGTH_BYTES)
    return { kind: 'unitPrice', microLamports: viewOf(data).getBigUint64(1, true) };
  return undefined;
}
