/** Small instructions that the fuzzer needs and the project itself builds in another form. */
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM } from '../../src/chain/programs.js';
import { type Instruction, readonlySigner } from '../../src/chain/transaction/instruction.js';
import type { Address } from '../../src/values/address.js';

export const memo = (text: string, signers: readonly Address[]): Instruction => ({
  program: MEMO_PROGRAM,
  accounts: signers.map(readonlySigner),
  data: Buffer.from(text),
});

/** Asks for compute units. */
export function unitLimit(units: number): Instruction {
  const data = Buffer.alloc(5);
  data[0] = 2;
  data.writeUInt32LE(units, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

/** Offers a price for each compute unit. */
export function unitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9);
  data[0] = 3;
  data.writeBigUInt64LE(microLamports, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}
