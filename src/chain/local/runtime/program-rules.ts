/** What the cluster says of programs as such: which can be called, and how a failure reads in the log. */
import type { AccountState } from '../../account.js';
import { UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import { INSTRUCTION_ERROR_SENTENCES } from '../vm/errors.js';
import type { InstructionFault } from './failure.js';

/** Is there a program at an address? */
export const isCallable = (state: AccountState | null): boolean => state?.executable === true;

const UNSUPPORTED_SENTENCE = 'instruction not supported by the embedded program';

function sentenceOf(error: string): string {
  if (error === UNSUPPORTED_INSTRUCTION) return UNSUPPORTED_SENTENCE;
  return INSTRUCTION_ERROR_SENTENCES[error] ?? error;
}

/** A failure as the line "Program … failed: …" has it. */
export const describeFault = (fault: InstructionFault): string =>
  'custom' in fault ? `custom program error: 0x${fault.custom.toString(16)}` : sentenceOf(fault.error);
