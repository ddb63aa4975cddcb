/** The LiteSVM build for this machine: loading, its typed interface, and its errors under the names of the cluster. */
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { ReadonlyBytes } from '../../values/bytes.js';
import type { TransactionError } from '../chain.js';

interface NativeAccount {
  lamports(): bigint;
  /** Copied out of the instance at each call. */
  data(): Uint8Array;
  owner(): Uint8Array;
  executable(): boolean;
}

/** An error without fields is its number in the tables below. */
type NativeInstructionError = number | { readonly code?: number; readonly msg?: string };

type NativeTransactionError =
  | number
  | { readonly index?: number; readonly accountIndex?: number; err?(): NativeInstructionError };

interface NativeMetadata {
  logs(): string[];
  computeUnitsConsumed(): bigint;
  /** One list per top-level instruction. */
  innerInstructions(): {
    instruction(): { programIdIndex(): number; accounts(): Uint8Array; data(): Uint8Array };
  }[][];
}

interface NativeFailure {
  err(): NativeTransactionError;
  meta(): NativeMetadata;
}

interface NativeSvm {
  setSigverify(verify: boolean): void;
  setBlockhashCheck(check: boolean): void;
  setTransactionHistory(capacity: bigint): void;
  setLogBytesLimit(limit?: bigint): void;
  setClock(clock: object): void;
  setSlotHashes(slots: readonly { readonly slot: bigint; readonly hash: string }[]): void;
  setAccount(address: ReadonlyBytes, account: NativeAccount): void;
  getAccount(address: ReadonlyBytes): NativeAccount | null;
  addProgram(address: ReadonlyBytes, program: ReadonlyBytes): void;
  /** Accepts legacy and versioned bytes. Aborts the process on bytes that are not a transaction. */
  sendVersionedTransaction(transaction: ReadonlyBytes): NativeMetadata | NativeFailure;
}

interface NativeModule {
  LiteSvm: new () => NativeSvm;
  Account: new (
    lamports: bigint,
    data: ReadonlyBytes,
    owner: ReadonlyBytes,
    executable: boolean,
    rentEpoch: bigint,
  ) => NativeAccount;
  Clock: new (
    slot: bigint,
    epochStartTimestamp: bigint,
    epoch: bigint,
    leaderScheduleEpoch: bigint,
    unixTimestamp: bigint,
  ) => object;
  FailedTransactionMetadata: new () => NativeFailure;
}

interface Platform {
  readonly os: string;
  readonly cpu: string;
}

/**
 * Loads LiteSVM. The C library of a Linux is not detected: the wrong build fails to load, and that is faster than reading Node's
 * report.
 * @param host - another machine, for tests.
 * @throws `ERR_INTERNAL` when there is no build for the machine, or the build is not installed.
 */
export function loadNative(host: Platform = { os: platform(), cpu: arch() }): NativeModule {
  const require = createRequire(import.meta.url);
  const { os, cpu } = host;
  const builds = os === 'linux' ? [`${cpu}-gnu`, `${cpu}-musl`] : [cpu];
  const names = builds.map((build) => `litesvm-${os}-${build}`);
  let cause: unknown;
  for (const name of names) {
    try {
      return require(name) as NativeModule;
    } catch (error) {
      cause ??= error;
    }
  }
  throw new FlywheelError('ERR_INTERNAL', problem(host, names), { cause });
}

/** The message includes the remedy, because the hint of a started command says how to resume. */
const problem = (host: Platform, names: readonly string[]): string =>
  ['linux', 'darwin'].includes(host.os) && ['x64', 'arm64'].includes(host.cpu)
    ? `The embedded chain needs the package ${names.join(' or ')}, which is not installed or does not run on this machine. Install flywheel again without --omit=optional, or use a server with --api-url.`
    : `The embedded chain does not run on this machine: there is no LiteSVM build for ${host.os} on ${host.cpu}. Use Linux or macOS on x64 or arm64 (on Windows: WSL), or a server with --api-url.`;

/**
 * By number, in the order of `InstructionErrorFieldless` of litesvm 1.5.0, each with its sentence in logs
 * (solana-instruction-error, `Display`).
 */
export const INSTRUCTION_ERROR_SENTENCES: Readonly<Record<string, string>> = {
  GenericError: 'generic instruction error',
  InvalidArgument: 'invalid program argument',
  InvalidInstructionData: 'invalid instruction data',
  InvalidAccountData: 'invalid account data for instruction',
  AccountDataTooSmall: 'account data too small for instruction',
  InsufficientFunds: 'insufficient funds for instruction',
  IncorrectProgramId: 'incorrect program id for instruction',
  MissingRequiredSignature: 'missing required signature for instruction',
  AccountAlreadyInitialized: 'instruction requires an uninitialized account',
  UninitializedAccount: 'instruction requires an initialized account',
  UnbalancedInstruction: 'sum of account balances before and after instruction do not match',
  ModifiedProgramId: 'instruction illegally modified the program id of an account',
  ExternalAccountLamportSpend: 'instruction spent from the balance of an account it does not own',
  ExternalAccountDataModified: 'instruction modified data of an account it does not own',
  ReadonlyLamportChange: 'instruction changed the balance of a read-only account',
  ReadonlyDataModified: 'instruction modified data of a read-only account',
  DuplicateAccountIndex: 'instruction contains duplicate accounts',
  ExecutableModified: 'instruction changed executable bit of an account',
  RentEpochModified: 'instruction modified rent epoch of an account',
  NotEnoughAccountKeys: 'insufficient account keys for instruction',
  AccountDataSizeChanged: "program other than the account's owner changed the size of the account data",
  AccountNotExecutable: 'instruction expected an executable account',
  AccountBorrowFailed: 'instruction tries to borrow reference for an account which is already borrowed',
  AccountBorrowOutstanding: 'instruction left account with an outstanding borrowed reference',
  DuplicateAccountOutOfSync: 'instruction modifications of multiply-passed account differ',
  InvalidError: 'program returned invalid error code',
  ExecutableDataModified: 'instruction changed executable accounts data',
  ExecutableLamportChange: 'instruction changed the balance of an executable account',
  ExecutableAccountNotRentExempt: 'executable accounts must be rent exempt',
  UnsupportedProgramId: 'Unsupported program id',
  CallDepth: 'Cross-program invocation call depth too deep',
  MissingAccount: 'An account required by the instruction is missing',
  ReentrancyNotAllowed: 'Cross-program invocation reentrancy not allowed for this instruction',
  MaxSeedLengthExceeded: 'Length of the seed is too long for address generation',
  InvalidSeeds: 'Provided seeds do not result in a valid address',
  InvalidRealloc: 'Failed to reallocate account data',
  ComputationalBudgetExceeded: 'Computational budget exceeded',
  PrivilegeEscalation: 'Cross-program invocation with unauthorized signer or writable account',
  ProgramEnvironmentSetupFailure: 'Failed to create program execution environment',
  ProgramFailedToComplete: 'Program failed to complete',
  ProgramFailedToCompile: 'Program failed to compile',
  Immutable: 'Account is immutable',
  IncorrectAuthority: 'Incorrect authority provided',
  AccountNotRentExempt: 'An account does not have enough lamports to be rent-exempt',
  InvalidAccountOwner: 'Invalid account owner',
  ArithmeticOverflow: 'Program arithmetic overflowed',
  UnsupportedSysvar: 'Unsupported sysvar',
  IllegalOwner: 'Provided owner is not allowed',
  MaxAccountsDataAllocationsExceeded:
    'Accounts data allocations exceeded the maximum allowed per transaction',
  MaxAccountsExceeded: 'Max accounts exceeded',
  MaxInstructionTraceLengthExceeded: 'Max instruction trace length exceeded',
  BuiltinProgramsMustConsumeComputeUnits: 'Builtin programs must consume compute units',
  BorshIoError: 'Failed to serialize or deserialize account data',
};
const INSTRUCTION_ERRORS: readonly string[] = Object.keys(INSTRUCTION_ERROR_SENTENCES);

/** By number, in the order of `TransactionErrorFieldless` of litesvm 1.5.0. */
const TRANSACTION_ERRORS: readonly string[] = [
  'AccountInUse',
  'AccountLoadedTwice',
  'AccountNotFound',
  'ProgramAccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
  'AlreadyProcessed',
  'BlockhashNotFound',
  'CallChainTooDeep',
  'MissingSignatureForFee',
  'InvalidAccountIndex',
  'SignatureFailure',
  'InvalidProgramForExecution',
  'SanitizeFailure',
  'ClusterMaintenance',
  'AccountBorrowOutstanding',
  'WouldExceedMaxBlockCostLimit',
  'UnsupportedVersion',
  'InvalidWritableAccount',
  'WouldExceedMaxAccountCostLimit',
  'WouldExceedAccountDataBlockLimit',
  'TooManyAccountLocks',
  'AddressLookupTableNotFound',
  'InvalidAddressLookupTableOwner',
  'InvalidAddressLookupTableData',
  'InvalidAddressLookupTableIndex',
  'InvalidRentPayingAccount',
  'WouldExceedMaxVoteCostLimit',
  'WouldExceedAccountDataTotalLimit',
  'MaxLoadedAccountsDataSizeExceeded',
  'ResanitizationNeeded',
  'InvalidLoadedAccountsDataSizeLimit',
  'UnbalancedTransaction',
  'ProgramCacheHitMaxLimit',
  'CommitCancelled',
];

const nameOf = (table: readonly string[], number: number): string => table[number] ?? `Unknown(${number})`;

function instructionError(index: number, error: NativeInstructionError): TransactionError {
  if (typeof error === 'number') {
    return { kind: 'instruction', index, error: nameOf(INSTRUCTION_ERRORS, error) };
  }
  if (error.code !== undefined) return { kind: 'instruction', index, custom: error.code };
  return { kind: 'instruction', index, error: 'BorshIoError' };
}

export function transactionError(error: NativeTransactionError): TransactionError {
  if (typeof error === 'number') return { kind: 'transaction', error: nameOf(TRANSACTION_ERRORS, error) };
  if (error.err !== undefined) return instructionError(error.index ?? 0, error.err());
  if (error.index !== undefined) {
    return { kind: 'transaction', error: 'DuplicateInstruction', accountIndex: error.index };
  }
  const name = error.constructor.name.replace(/^TransactionError/, '');
  return { kind: 'transaction', error: name, accountIndex: error.accountIndex ?? 0 };
}
