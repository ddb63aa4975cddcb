/** One burn as one signed transaction: compute limit, memo of the proof if it is to be recorded, BurnChecked. */
import type { RecentBlockhash } from '../../chain/chain.js';
import { setComputeUnitLimit } from '../../chain/compute-budget.js';
import { memo, proofMemoText } from '../../chain/memo.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import { burnChecked } from '../../chain/tokens/instructions.js';
import { compileLegacyMessage, signTransactions } from '../../chain/transaction/compile.js';
import type { Instruction } from '../../chain/transaction/instruction.js';
import type { Signer } from '../../chain/transaction/signer.js';
import type { BurnRecord, TokenRecord } from '../../store/records.js';

/** Far above what a memo and a burn use (squads-v4.md, section 10: below 15,000 together). */
const COMPUTE_UNITS = 100_000;
/** The highest limit that any transaction may ask for is 1,400,000. */
const DISTINCT_LIMITS = 1_000_000;

/** What a burn is built from. */
export type BurnTerms = Pick<
  BurnRecord,
  'sequence' | 'amount' | 'proofType' | 'proofHash' | 'persistOnchain'
>;

/** What signing adds to a burn. */
export type SignedBurn = Pick<BurnRecord, 'signature' | 'transaction' | 'lastValidBlockHeight'>;

/**
 * The message of a burn.
 *
 * Two burns of the same amount under the same blockhash would be the same bytes, so the same signature, and the second
 * would never land. The compute limit, which costs nothing, carries the sequence number and keeps them apart.
 */
function burnMessage(token: TokenRecord, terms: BurnTerms, { blockhash }: RecentBlockhash): Uint8Array {
  const instructions: Instruction[] = [
    setComputeUnitLimit(COMPUTE_UNITS + (terms.sequence % DISTINCT_LIMITS)),
  ];
  if (terms.persistOnchain) {
    instructions.push(memo(proofMemoText(terms.proofType, terms.proofHash), [token.burnWallet]));
  }
  instructions.push(
    burnChecked({
      account: token.burnTokenAccount,
      mint: token.mintAddress,
      owner: token.burnWallet,
      amount: terms.amount,
      decimals: token.decimals,
      tokenProgram: tokenProgramAddress(token.tokenProgram),
    }),
  );
  return compileLegacyMessage({ payer: token.burnWallet, instructions, blockhash });
}

/** Builds and signs burns, in their order. */
export async function signBurns(
  token: TokenRecord,
  burnWallet: Signer,
  burns: readonly BurnTerms[],
  recent: RecentBlockhash,
): Promise<readonly SignedBurn[]> {
  const messages = burns.map((terms) => burnMessage(token, terms, recent));
  const { lastValidBlockHeight } = recent;
  return (await signTransactions(messages, burnWallet)).map(({ signature, bytes }) => ({
    signature,
    transaction: bytes,
    lastValidBlockHeight,
  }));
}
