/** How an instruction ends when it does not succeed; what that means for the transaction is the runner's to decide. */
import { UNSUPPORTED_INSTRUCTION } from '../../chain.js';
import { INSTRUCTION_ERROR_SENTENCES } from '../vm/errors.js';

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
