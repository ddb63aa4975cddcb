/** SPL Memo instructions, and the memo text that carries a proof (contract, section 1.6). */
import type { Address } from '../values/address.js';
import { readBuffer } from '../values/bytes.js';
import type { Sha256 } from '../values/digest.js';
import { MEMO_PROGRAM } from './programs.js';
import { type Instruction, readonlySigner } from './transaction/instruction.js';
import type { WireMessage } from './transaction/wire.js';

/** A memo with this text that each of `signers` must sign. */
export const memo = (text: string, signers: readonly Address[]): Instruction => ({
  program: MEMO_PROGRAM,
  accounts: signers.map(readonlySigner),
  data: Buffer.from(text, 'utf8'),
});

/** The text under which a proof stands on chain: compact JSON `{"type":T,"hash":H}`. */
export const proofMemoText = (type: string, hash: Sha256): string => JSON.stringify({ type, hash });

/** The memos that a message names itself, joined as a node of a cluster joins them: `[length] text; …`; `null` when there is none. */
export function memosOf({ staticKeys, instructions }: WireMessage): string | null {
  const memos = instructions
    .filter(({ programIndex }) => staticKeys[programIndex] === MEMO_PROGRAM)
    .map(({ data }) => `[${data.length}] ${readBuffer(data).toString('utf8')}`);
  return memos.length === 0 ? null : memos.join('; ');
}
