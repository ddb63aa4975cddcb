/** How the program makes an account at an address of its own (squads-v4.md, section 4, step 4). */
import type { Address } from '../../../values/address.js';
import { rentExemptLamports } from '../../account.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../programs.js';
import { encode, key, struct, u32, u64 } from '../../squads/layouts/codec.js';
import { createAccount, transfer } from '../../system.js';
import { type Instruction, writableSigner } from '../../transaction/instruction.js';
import type { Invocation } from '../runtime/invocation.js';

// Instruction numbers, u32 (solana-system-interface, `SystemInstruction`).
const ASSIGN = 1;
const ALLOCATE = 8;

const allocateData = struct<{ kind: number; sizeBytes: bigint }>({ kind: u32, sizeBytes: u64 });
const assignData = struct<{ kind: number; owner: Address }>({ kind: u32, owner: key });

const allocate = (account: Address, sizeBytes: number): Instruction => ({
  program: SYSTEM_PROGRAM,
  accounts: [writableSigner(account)],
  data: encode(allocateData, { kind: ALLOCATE, sizeBytes: BigInt(sizeBytes) }),
});

const assign = (account: Address): Instruction => ({
  program: SYSTEM_PROGRAM,
  accounts: [writableSigner(account)],
  data: encode(assignData, { kind: ASSIGN, owner: SQUADS_PROGRAM }),
});

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
