/** What running comes to: of a transaction, of an instruction of a program of ours, and of the accounts until they are committed. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import { type ProgramCall, type TransactionError, UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import type { AccountMeta, Instruction } from '../../transaction/message.js';
import { INSTRUCTION_ERROR_SENTENCES } from '../vm/native.js';
import type { AccountSource } from '../vm/vm.js';

/** A call from within an instruction of a transaction. */
export interface InnerCall extends ProgramCall {
  /** Index of that instruction. */
  readonly within: number;
}

export const innerCall = ({ program, accounts, data }: Instruction, within: number): InnerCall => ({
  ...{ within, program, data },
  accounts: accounts.map(({ address }) => address),
});

/** What a transaction did. */
export interface ExecutionResult {
  readonly error: TransactionError | null;
  /** `false`: it could not start, and nothing is charged. */
  readonly landed: boolean;
  /** All accounts that differ now, `null` where one is gone; of a failed transaction its fee payer. */
  readonly changes: ReadonlyMap<Address, AccountState | null>;
  readonly logs: readonly string[];
  /** As metered by LiteSVM; Squads instructions that run natively add nothing of their own. */
  readonly computeUnits: bigint;
  readonly feeLamports: bigint;
  /** Calls of the Squads program from within itself; it is the only program here that calls it. None of a transaction that failed. */
  readonly innerCalls: readonly InnerCall[];
}

/** Of a transaction that does not start. */
export const refused = (error: string | TransactionError, logs: readonly string[] = []): ExecutionResult => ({
  error: typeof error === 'string' ? { kind: 'transaction', error } : error,
  landed: false,
  changes: new Map(),
  logs,
  computeUnits: 0n,
  feeLamports: 0n,
  innerCalls: [],
});

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

/** Reads each account of the source once, keeps what is written; dropping it is rolling back. */
export class Overlay implements AccountSource {
  readonly #source: AccountSource;
  readonly #read = new Map<Address, AccountState | null>();
  readonly #now = new Map<Address, AccountState | null>();

  constructor(source: AccountSource) {
    this.#source = source;
  }

  get(address: Address): AccountState | null {
    const known = this.#now.get(address);
    if (known !== undefined) return known;
    const state = this.#source.get(address);
    this.#read.set(address, state);
    this.#now.set(address, state);
    return state;
  }

  /** An account without lamports is gone. */
  set(address: Address, state: AccountState | null): void {
    this.#now.set(address, state === null || state.lamports === 0n ? null : state);
  }

  /** All that was written and is not what was read. */
  changes(): Map<Address, AccountState | null> {
    return new Map([...this.#now].filter(([address, state]) => this.#read.get(address) !== state));
  }
}
