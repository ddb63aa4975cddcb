/** How an instruction ends when it does not succeed; what that means for the transaction is the runner's to decide. */

/** Why an instruction failed: a program's own number, or a runtime error by its name. */
export type InstructionFault = { readonly custom: number } | { readonly error: string };

/** Thrown by a native program, and by calls it makes; ends the instruction. */
export class InstructionFailure extends Error {
  override readonly name = 'InstructionFailure';

  constructor(readonly fault: InstructionFault) {
    super('custom' in fault ? `custom program error: 0x${fault.custom.toString(16)}` : fault.error);
  }
}
