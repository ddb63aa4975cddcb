/** Short names for accounts and Squads instructions, because the builders are tables of them. */
import {
  type AccountMeta,
  type Address,
  type ArgumentsOf,
  encodeInstruction,
  type Instruction,
  type InstructionName,
  SQUADS_PROGRAM,
} from './program.js';

export const meta = (address: Address, signer: boolean, writable: boolean): AccountMeta => ({
  address,
  signer,
  writable,
});
export {
  readonlyAccount as r,
  readonlySigner as s,
  writableAccount as w,
  writableSigner as ws,
} from './program.js';

export const call = <Name extends InstructionName>(
  name: Name,
  args: ArgumentsOf<Name>,
  accounts: readonly AccountMeta[],
): Instruction => ({
  program: SQUADS_PROGRAM,
  accounts,
  data: encodeInstruction(name, args),
});
