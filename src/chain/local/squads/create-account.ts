/** How the program makes an account at an address of its own (squads-v4.md, section 4, step 4). */
import { type Address, addressBytes } from '../../../values/address.js';
import { rentExemptLamports } from '../../account.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { createAccount, transfer } from '../../system.js';
import { type Instruction, writableSigner } from '../../transaction/instruction.js';
import type { Invocation } from '../runtime/invocation.js';

// Instruction numbers, u32 (solana-system-interface, `SystemInstruction`).
const ASSIGN = 1;
const ALLOCATE = 8;

function allocate(account: Address, sizeBytes: number): Instruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(ALLOCATE, 0);
  data.writeBigUInt64LE(BigInt(sizeBytes), 4);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(account)], data };
}

function assign(account: Address): Instruction {
  const data = Buffer.alloc(36);
  data.writeUInt32LE(ASSIGN, 0);
  data.set(addressBytes(SQUADS_PROGRAM), 4);
  return { program: SYSTEM_PROGRAM, accounts: [writableSigner(account)], data };
}

/** What {@link makeAccount} makes, and who pays. */
export interface NewAccount {
  readonly address: Address;
  readonly sizeBytes: number;
  readonly payer: Address;
}

/** An empty address takes one call; one that holds lamports is topped up, given its size, and taken over. */
export function makeAccount(invocation: Invocation, { address, sizeBytes, payer }: NewAccount): void {
  const { lamports: held } = invocation.get(address);
  const needed = rentExemptLamports(sizeBytes);
  if (held === 0n) {
    const call = createAccount({
      from: payer,
      account: address,
      lamports: needed,
      sizeBytes,
      owner: SQUADS_PROGRAM,
    });
    invocation.invoke([call], [address]);
    return;
  }
  const missing = needed - held;
  const topUp = missing > 0n ? [transfer({ from: payer, to: address, lamports: missing })] : [];
  invocation.invoke([...topUp, allocate(address, sizeBytes), assign(address)], [address]);
}
