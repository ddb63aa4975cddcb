/** What the cluster says of programs as such: which can be called, and how a failure reads in the log. */
import type { AccountState } from '../../account.js';
import { UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import type { InstructionFault } from './failure.js';

/** Is there a program at an address? */
export const isCallable = (state: AccountState | null): boolean => state?.executable === true;

/** The cluster's own sentences, where they differ from the name (solana-instruction-error, `Display`), and one of ours. */
const SENTENCES: Readonly<Record<string, string>> = {
  BorshIoError: 'Failed to serialize or deserialize account data',
  MissingRequiredSignature: 'missing required signature for instruction',
  PrivilegeEscalation: 'Cross-program invocation with unauthorized signer or writable account',
  ProgramFailedToComplete: 'Program failed to complete',
  UnsupportedProgramId: 'Unsupported program id',
  UnbalancedInstruction: 'sum of account balances before and after instruction do not match',
  InvalidInstructionData: 'invalid instruction data',
  InvalidAccountData: 'invalid account data for instruction',
  [UNSUPPORTED_INSTRUCTION]: 'instruction not supported by the embedded program',
  ReadonlyDataModified: 'instruction modified data of a read-only account',
};

/** A failure as the line "Program … failed: …" has it. */
export const describeFault = (fault: InstructionFault): string =>
  'custom' in fault
    ? `custom program error: 0x${fault.custom.toString(16)}`
    : (SENTENCES[fault.error] ?? fault.error);
