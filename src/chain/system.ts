/** Instructions of the system program. */
import { type Address, addressBytes } from '../values/address.js';
import { SYSTEM_PROGRAM } from './programs.js';
import { type Instruction, writableAccount, writableSigner } from './transaction/instruction.js';

// Instruction numbers, u32 (solana-system-interface, `SystemInstruction`).
const CREATE_ACCOUNT = 0;
const ASSIGN = 1;
const TRANSFER = 2;
const ALLOCATE = 8;

/** What {@link createAccount} makes. */
interface CreateAccountInput {
  readonly from: Address;
  /** Must sign: only a key's holder can open an account at it. */
  readonly account: Address;
  readonly lamports: bigint;
  readonly sizeBytes: number;
  readonly owner: Address;
}

/** Opens an account of `sizeBytes` zero bytes that belongs to the program `owner`. */
export function createAccount({
  from,
  account,
  lamports,
  sizeBytes,
  owner,
}: CreateAccountInput): Instruction {
  const data = Buffer.alloc(52);
  data.writeUInt32LE(CREATE_ACCOUNT, 0);
  data.writeBigUInt64LE(lamports, 4);
  data.writeBigUInt64LE(BigInt(sizeBytes), 12);
  data.set(addressBytes(owner), 20);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(from), writableSigner(account)], data };
}

/** Moves lamports from a wallet that signs. */
export function transfer(input: { from: Address; to: Address; lamports: bigint }): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(TRANSFER, 0);
  data.writeBigUInt64LE(input.lamports, 4);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(input.from), writableAccount(input.to)], data };
}

/** Gives an account that signs its size. */
export function allocate(account: Address, sizeBytes: number): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(ALLOCATE, 0);
  data.writeBigUInt64LE(BigInt(sizeBytes), 4);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(account)], data };
}

/** Gives an account that signs to a program. */
export function assign(account: Address, owner: Address): Instruction {
  const data = Buffer.alloc(36);
  data.writeUInt32LE(ASSIGN, 0);
  data.set(addressBytes(owner), 4);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(account)], data };
}
