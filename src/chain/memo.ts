/** SPL Memo instructions, and the memo text that carries a proof (contract, section 1.6). */
import type { Address } from '../values/address.js';
import type { Sha256 } from '../values/digest.js';
import { MEMO_PROGRAM } from './programs.js';
import { type Instruction, readonlySigner } from './transaction/instruction.js';

/** A memo with this text that each of `signers` must sign. */
export const memo = (text: string, signers: readonly Address[]): Instruction => ({
  program: MEMO_PROGRAM,
  accounts: signers.map(readonlySigner),
  data: Buffer.from(text, 'utf8'),
});

/** The text under which a proof stands on chain: compact JSON `{"type":T,"hash":H}`. */
export const proofMemoText = (type: string, hash: Sha256): string => JSON.stringify({ type, hash });
