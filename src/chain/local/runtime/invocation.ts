/** What a native program sees of the runner: its accounts, the clock, logs, and calls to other programs. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { AccountMeta, Instruction } from '../../transaction/instruction.js';

export interface Invocation {
  /** Accounts in the order given, with the rights they have in this instruction. */
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyBytes;
  /** Unix seconds of the clock. */
  readonly unixTimestamp: bigint;
  /** State of an account, built-in ones included; one that does not exist is empty and belongs to the system program. */
  get(address: Address): AccountState;
  set(address: Address, state: AccountState): void;
  /** Writes `Program log: <text>`. */
  log(text: string): void;
  /**
   * Calls other programs, in order, with the rights stated in each instruction.
   * @param derivedSigners - addresses for which the program signs by their seeds.
   * @throws InstructionFailure the first that fails.
   */
  invoke(calls: readonly Instruction[], derivedSigners: readonly Address[]): void;
}

/** A program of ours: runs one instruction. @throws InstructionFailure */
export type NativeProgram = (invocation: Invocation) => void;
