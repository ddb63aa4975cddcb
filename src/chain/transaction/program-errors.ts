/** Error numbers of the programs that this project calls, and failed transactions as text. */
import type { TransactionError } from '../chain.js';
import { SQUADS_PROGRAM, SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../programs.js';

// https://github.com/solana-program/token/blob/main/interface/src/error.rs
const TOKEN_ERRORS: Readonly<Record<number, string>> = {
  0: 'the account is not rent-exempt',
  1: 'insufficient funds',
  3: 'the account belongs to another mint',
  4: 'the owner does not match',
  17: 'the account is frozen',
  18: 'the decimals do not match the mint',
};

// https://github.com/solana-program/system/blob/main/interface/src/error.rs
const SYSTEM_ERRORS: Readonly<Record<number, string>> = {
  0: 'the account is already in use',
  1: 'the account lacks lamports',
};

/** Squads v4 (docs/squads-v4.md, section 9): framework errors first, then the program's own. */
export const SQUADS_ERRORS = {
  InstructionMissing: 100,
  InstructionFallbackNotFound: 101,
  InstructionDidNotDeserialize: 102,
  ConstraintMut: 2000,
  ConstraintSeeds: 2006,
  ConstraintClose: 2011,
  AccountDiscriminatorNotFound: 3001,
  AccountDiscriminatorMismatch: 3002,
  AccountDidNotDeserialize: 3003,
  AccountDidNotSerialize: 3004,
  AccountNotEnoughKeys: 3005,
  AccountOwnedByWrongProgram: 3007,
  InvalidProgramId: 3008,
  AccountNotSigner: 3010,
  AccountNotInitialized: 3012,
  DuplicateMember: 6000,
  InvalidThreshold: 6003,
  Unauthorized: 6004,
  NotAMember: 6005,
  InvalidTransactionMessage: 6006,
  StaleProposal: 6007,
  InvalidProposalStatus: 6008,
  InvalidTransactionIndex: 6009,
  AlreadyApproved: 6010,
  AlreadyRejected: 6011,
  AlreadyCancelled: 6012,
  InvalidNumberOfAccounts: 6013,
  InvalidAccount: 6014,
  NoVoters: 6016,
  NoProposers: 6017,
  NoExecutors: 6018,
  InvalidStaleTransactionIndex: 6019,
  TimeLockNotReleased: 6021,
  UnknownPermission: 6028,
  ProtectedAccount: 6029,
  TimeLockExceedsMaxAllowed: 6030,
  RentReclamationDisabled: 6032,
  InvalidRentCollector: 6033,
  ProposalForAnotherMultisig: 6034,
  TransactionForAnotherMultisig: 6035,
  TransactionNotMatchingProposal: 6036,
  TransactionNotLastInBatch: 6037,
  BatchNotEmpty: 6038,
  MultisigCreateDeprecated: 6044,
} as const;

export type SquadsError = keyof typeof SQUADS_ERRORS;

const SQUADS_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(SQUADS_ERRORS).map(([name, number]) => [number, name]),
);

const NAMES: Readonly<Record<string, { name: string; errors: Readonly<Record<number, string>> }>> = {
  [TOKEN_PROGRAM]: { name: 'SPL Token', errors: TOKEN_ERRORS },
  [TOKEN_2022_PROGRAM]: { name: 'Token-2022', errors: TOKEN_ERRORS },
  [SYSTEM_PROGRAM]: { name: 'System', errors: SYSTEM_ERRORS },
  [SQUADS_PROGRAM]: { name: 'Squads', errors: SQUADS_NAMES },
};

const FAILED_PROGRAM = /^Program (\S+) failed: /;

/** The innermost failed program: it logs its failure first. */
const failedProgram = (logs: readonly string[]): string | undefined =>
  logs.map((line) => FAILED_PROGRAM.exec(line)?.[1]).find((program) => program !== undefined);

/**
 * Why a transaction failed, without a full stop: `instruction 2: SPL Token error 1 (insufficient funds)`.
 * @param logs - identify the program whose error number is given.
 */
export function describeTransactionError(error: TransactionError, logs: readonly string[]): string {
  if (error.kind === 'transaction') return error.error;
  const program = NAMES[failedProgram(logs) ?? ''];
  if (!('custom' in error)) return `instruction ${error.index}: ${error.error}`;
  const reason = program?.errors[error.custom];
  return `instruction ${error.index}: ${program?.name ?? 'program'} error ${error.custom}${reason === undefined ? '' : ` (${reason})`}`;
}
