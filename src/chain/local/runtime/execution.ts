/** Results of execution: of a transaction, of a native instruction, and of accounts before commit. */
import type { Address } from '../../../values/address.js';
import type { ReadonlyBytes } from '../../../values/bytes.js';
import type { AccountState } from '../../account.js';
import type { TransactionError } from '../../chain.js';
import { SQUADS_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../programs.js';
import type { AccountMeta, Call, Instruction } from '../../transaction/message.js';
import { INSTRUCTION_ERROR_SENTENCES } from '../native-vm.js';
import type { AccountSource } from '../vm.js';

export interface InnerCall extends Call<Address> {
  readonly within: number;
}

/** Inner calls that the ledger stores: those that act on a multisig or on tokens. */
export const isStored = ({ program }: Instruction): boolean =>
  program === SQUADS_PROGRAM || program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;

export const innerCall = ({ program, accounts, data }: Instruction, within: number): InnerCall => ({
  ...{ within, program, data },
  accounts: accounts.map(({ address }) => address),
});

export interface ExecutionResult {
  readonly error: TransactionError | null;
  /** `false`: the transaction could not start, and pays nothing. */
  readonly landed: boolean;
  /** Changed accounts, `null` for a deleted one. A failed transaction changes only its fee payer. */
  readonly changes: ReadonlyMap<Address, AccountState | null>;
  readonly logs: readonly string[];
  /** As metered by LiteSVM; native Squads instructions are not metered. */
  readonly computeUnits: bigint;
  readonly feeLamports: bigint;
  /** Those that {@link isStored}. Empty for a failed transaction. */
  readonly innerCalls: readonly InnerCall[];
}

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
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyBytes;
  readonly unixTimestamp: bigint;
  /** State of an account, built-in programs included. A missing account is {@link EMPTY_ACCOUNT}. */
  get(address: Address): AccountState;
  set(address: Address, state: AccountState): void;
  log(text: string): void;
  /**
   * Calls other programs, in order, with the rights stated in each instruction.
   * @param derivedSigners - addresses for which the program signs by their seeds.
   * @throws InstructionFailure of the first call that fails.
   */
  invoke(calls: readonly Instruction[], derivedSigners: readonly Address[]): void;
}

/** A program implemented in TypeScript: runs one instruction. @throws InstructionFailure */
export type NativeProgram = (invocation: Invocation) => void;

type InstructionFault = { readonly custom: number } | { readonly error: string };

export const describeFault = (fault: InstructionFault): string =>
  'custom' in fault
    ? `custom program error: 0x${fault.custom.toString(16)}`
    : (INSTRUCTION_ERROR_SENTENCES[fault.error] ?? fault.error);

export class InstructionFailure extends Error {
  override readonly name = 'InstructionFailure';

  constructor(
    readonly fault: InstructionFault,
    readonly sentence = describeFault(fault),
    /** What the program logs of it. */
    readonly line?: string,
  ) {
    super(sentence);
  }
}

/** Copy-on-write view of a source. Each account is read once; dropping the overlay is the rollback. */
export class Overlay implements AccountSource {
  readonly #read = new Map<Address, AccountState | null>();
  readonly #now = new Map<Address, AccountState | null>();

  constructor(private readonly source: AccountSource) {}

  get(address: Address): AccountState | null {
    const known = this.#now.get(address);
    if (known !== undefined) return known;
    const state = this.source.get(address);
    this.#read.set(address, state);
    this.#now.set(address, state);
    return state;
  }

  set(address: Address, state: AccountState | null): void {
    this.#now.set(address, state === null || state.lamports === 0n ? null : state);
  }

  changes(): Map<Address, AccountState | null> {
    return new Map([...this.#now].filter(([address, state]) => this.#read.get(address) !== state));
  }
}
