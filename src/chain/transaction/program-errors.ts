/** Error numbers of the programs that this project calls, and failed transactions as text. */
import { type TransactionError, UNSUPPORTED_INSTRUCTION } from '../chain.js';
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

const SQUADS_SENTENCES: Readonly<Partial<Record<SquadsError, string>>> = {
  ConstraintSeeds: 'an address is not the one expected',
  AccountNotInitialized: 'an account does not exist',
  Unauthorized: 'the member lacks the right',
  NotAMember: 'the signer is not a member',
  StaleProposal: 'the proposal is stale',
  InvalidProposalStatus: 'the proposal is not in the right state',
  AlreadyApproved: 'the member has approved already',
  InvalidAccount: 'an account is not the one in the message',
  TimeLockNotReleased: 'the time lock is not released',
};

const SQUADS_BY_NUMBER: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(SQUADS_SENTENCES).map(([name, sentence]) => [SQUADS_ERRORS[name as SquadsError], sentence]),
);

const NAMES: Readonly<Record<string, { name: string; errors: Readonly<Record<number, string>> }>> = {
  [TOKEN_PROGRAM]: { name: 'SPL Token', errors: TOKEN_ERRORS },
  [TOKEN_2022_PROGRAM]: { name: 'Token-2022', errors: TOKEN_ERRORS },
  [SYSTEM_PROGRAM]: { name: 'System', errors: SYSTEM_ERRORS },
  [SQUADS_PROGRAM]: { name: 'Squads', errors: SQUADS_BY_NUMBER },
};

const FAILED_PROGRAM = /^Program (\S+) failed: /;

/** The innermost failed program: it logs its failure first. */
function failedProgram(logs: readonly string[]): string | undefined {
  for (const line of logs) {
    const found = FAILED_PROGRAM.exec(line);
    if (found !== null) return found[1];
  }
  return undefined;
}

/** Log text of the embedded Squads program for an instruction that only the real one supports. */
export const unsupportedInstruction = (logName: string): string =>
  `The embedded Squads program does not support ${logName}`;

const UNSUPPORTED_LINE = new RegExp(`^Program log: ${unsupportedInstruction('(\\w+)')};`);

function describeUnsupported(logs: readonly string[]): string {
  const name = logs.flatMap((line) => UNSUPPORTED_LINE.exec(line)?.[1] ?? []).at(0);
  return `the embedded Squads program does not support ${name ?? 'an instruction'}`;
}

/**
 * Why a transaction failed, without a full stop: `instruction 2: SPL Token error 1 (insufficient funds)`.
 * @param logs - identify the program whose error number is given.
 */
export function describeTransactionError(error: TransactionError, logs: readonly string[]): string {
  if (error.kind === 'transaction') return error.error;
  const program = NAMES[failedProgram(logs) ?? ''];
  if (!('custom' in error)) {
    const reason = error.error === UNSUPPORTED_INSTRUCTION ? describeUnsupported(logs) : error.error;
    return `instruction ${error.index}: ${reason}`;
  }
  const reason = program?.errors[error.custom];
  return `instruction ${error.index}: ${program?.name ?? 'program'} error ${error.custom}${reason === undefined ? '' : ` (${reason})`}`;
}
