/** Small instruction builders for the fuzzer, which the project builds in another form. */
import {
  type AccountMeta,
  type Address,
  type ArgumentsOf,
  COMPUTE_BUDGET_PROGRAM,
  encodeInstruction,
  type Instruction,
  type InstructionName,
  MEMO_PROGRAM,
  readonlySigner,
  SQUADS_PROGRAM,
} from './program.js';

export const memo = (text: string, signers: readonly Address[]): Instruction => ({
  program: MEMO_PROGRAM,
  accounts: signers.map(readonlySigner),
  data: Buffer.from(text),
});

export function unitLimit(units: number): Instruction {
  const data = Buffer.alloc(5);
  data[0] = 2;
  data.writeUInt32LE(units, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

/** Requests heap; granted in whole KiB from 32 to 256. */
export function heapFrame(bytes: number): Instruction {
  const data = Buffer.alloc(5);
  data[0] = 1;
  data.writeUInt32LE(bytes, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

export function unitPrice(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9);
  data[0] = 3;
  data.writeBigUInt64LE(microLamports, 1);
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

// Short names for accounts and Squads instructions, because the builders are tables of them.
export const meta = (address: Address, signer: boolean, writable: boolean): AccountMeta => ({
  address,
  signer,
  writable,
});
export const r = (address: Address) => meta(address, false, false);
export const w = (address: Address) => meta(address, false, true);
export const s = (address: Address) => meta(address, true, false);
export const ws = (address: Address) => meta(address, true, true);

export const call = <Name extends InstructionName>(
  name: Name,
  args: ArgumentsOf<Name>,
  accounts: readonly AccountMeta[],
): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts,
  data: encodeInstruction(name, args),
});
