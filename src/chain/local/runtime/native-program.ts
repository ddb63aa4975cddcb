/** What a program of ours is: what it sees of the runner, and how it ends an instruction that does not succeed. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import { UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import type { AccountMeta, Instruction } from '../../transaction/instruction.js';
import { INSTRUCTION_ERROR_SENTENCES } from '../vm/errors.js';

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

/** Why an instruction failed: a program's own number, or a runtime error by its name. */
export type InstructionFault = { readonly custom: number } | { readonly error: string };

const UNSUPPORTED_SENTENCE = 'instruction not supported by the embedded program';

function sentenceOf(error: string): string {
  if (error === UNSUPPORTED_INSTRUCTION) return UNSUPPORTED_SENTENCE;
  return INSTRUCTION_ERROR_SENTENCES[error] ?? error;
}

/** A failure as the line "Program … failed: …" has it. */
export const describeFault = (fault: InstructionFault): string =>
  'custom' in fault ? `custom program error: 0x${fault.custom.toString(16)}` : sentenceOf(fault.error);

/** Thrown by a native program, and by calls it makes; ends the instruction. */
export class InstructionFailure extends Error {
  override readonly name = 'InstructionFailure';

  /** @param sentence - how the log of the program that failed has it. */
  constructor(
    readonly fault: InstructionFault,
    readonly sentence = describeFault(fault),
  ) {
    super(sentence);
  }
}
