import type { AccountState } from '../../../../../src/chain/account.js';
import type { ExecutionResult, NativeProgram } from '../../../../../src/chain/local/runtime/execution.js';
import { Runtime } from '../../../../../src/chain/local/runtime/runtime.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM } from '../../../../../src/chain/programs.js';
import type { AccountMeta, Instruction } from '../../../../../src/chain/transaction/message.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../../../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../../../../src/chain/transaction/wire.js';
import type { Address } from '../../../../../src/values/address.js';
import { signTransaction } from '../../../../support/chain.js';

export const NO_BLOCKHASH = '11111111111111111111111111111111';
export const CLOCK = { slot: 5n, epoch: 0n, unixTimestamp: 1_700_000_000n };

export const wallet = (lamports: bigint): AccountState => ({
  lamports,
  owner: SYSTEM_PROGRAM,
  data: new Uint8Array(0),
  executable: false,
});

/** A runtime with one scripted native program, over accounts that keep changes. */
export class Stage {
  readonly accounts = new Map<Address, AccountState>();
  readonly payer: KeypairSigner;
  program: NativeProgram = () => {};
  readonly runtime = new Runtime({
    nativePrograms: new Map([[SQUADS_PROGRAM, (invocation) => this.program(invocation)]]),
  });

  constructor() {
    this.payer = this.signer(10_000_000_000n);
  }

  signer(lamports: bigint): KeypairSigner {
    const signer = createKeypairSigner(generateKeypair());
    this.accounts.set(signer.address, wallet(lamports));
    return signer;
  }

  get(address: Address): AccountState | null {
    return this.accounts.get(address) ?? null;
  }

  lamports(address: Address): bigint {
    return this.get(address)?.lamports ?? 0n;
  }

  sign(instructions: readonly Instruction[], signers: readonly KeypairSigner[] = []): Uint8Array {
    const message = compileLegacyMessage({
      payer: this.payer.address,
      blockhash: NO_BLOCKHASH,
      instructions,
    });
    return signTransaction(message, [this.payer, ...signers]).bytes;
  }

  execute(transaction: Uint8Array): ExecutionResult {
    return this.runtime.execute(transaction, this, CLOCK);
  }

  land(instructions: readonly Instruction[], signers: readonly KeypairSigner[] = []): ExecutionResult {
    const result = this.execute(this.sign(instructions, signers));
    for (const [address, state] of result.changes) {
      if (state === null) this.accounts.delete(address);
      else this.accounts.set(address, state);
    }
    return result;
  }
}

export const callNative = (accounts: readonly AccountMeta[] = [], data = new Uint8Array(0)): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts,
  data,
});
