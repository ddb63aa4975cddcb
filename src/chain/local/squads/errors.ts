/** The error numbers of Squads v4 (docs/squads-v4.md, section 9), and how one is raised. */
import { snakeCase } from '../../squads/instructions.js';
import { InstructionFailure } from '../runtime/native-program.js';

/** Framework errors first, then the program's own. */
export const ERROR_NUMBERS = {
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

export type SquadsError = keyof typeof ERROR_NUMBERS;

/** A failure that the framework logs. */
export class SquadsFailure extends InstructionFailure {
  constructor(
    error: SquadsError,
    readonly line: string,
  ) {
    super({ custom: ERROR_NUMBERS[error] });
  }
}

/**
 * Ends the instruction with an error of the table.
 * @param account - the account at fault, as the instruction names it.
 */
export function fail(error: SquadsError, account?: string): never {
  const cause = account === undefined ? 'occurred' : `caused by account: ${snakeCase(account)}`;
  throw new SquadsFailure(
    error,
    `AnchorError ${cause}. Error Code: ${error}. Error Number: ${ERROR_NUMBERS[error]}.`,
  );
}

/** Ends the instruction where the real program stops on the spot: a broken promise of its own. */
export function panic(): never {
  throw new InstructionFailure({ error: 'ProgramFailedToComplete' }, 'SBF program panicked');
}
