/** One burn as one signed transaction: compute limit, memo of the proof if it is to be recorded, BurnChecked. */
import type { Chain } from '../../chain/chain.js';
import { tokenProgramAddress } from '../../chain/programs.js';
import {
  memo,
  proofMemoText,
  setComputeUnitLimit,
  setLoadedAccountsDataSizeLimit,
} from '../../chain/small-programs.js';
import { burnChecked } from '../../chain/tokens/instructions.js';
import type { Instruction } from '../../chain/transaction/message.js';
import type { Signer } from '../../chain/transaction/sign.js';
import { sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { BurnIntent, TokenRecord } from '../../store/records.js';
import { sha256 } from '../../values/digest.js';
import type { EngineDeps } from '../deps.js';
import type { Principal } from '../operation.js';
import { budgetFor, type SigningTerms, signingTerms } from '../signing-terms.js';
import type { Burn } from './elements.js';

/** Far above what a memo and a burn use (squads-v4.md, section 10: below 15,000 together). */
const COMPUTE_UNITS = 100_000;
/** The highest limit that any transaction may ask for is 1,400,000. */
const DISTINCT_LIMITS = 1_000_000;
/** Bytes of accounts, far above those of a burn: some two million with its programs. */
const LOADED_BYTES = 32 * 1_024 * 1_024;
/** The highest limit of theirs is 64 MiB, which is what every transaction has that sets none. */
const DISTINCT_LOADED_BYTES = 32 * 1_024 * 1_024;

export interface BurnMeans {
  readonly deps: EngineDeps;
  readonly token: TokenRecord;
}

export type BurnContext = BurnMeans & { readonly principal: Principal };

type NumberedBurn = Burn & Pick<BurnIntent, 'sequence'>;

export type SignedBurn = NumberedBurn &
  Pick<BurnIntent, 'signature' | 'transaction' | 'lastValidBlockHeight'>;

const PLACE_DIGITS = 7;

/** Where the numbers of a registration begin: another one with the same burn wallet, on another machine, counts from 1 as well. */
const placeOf = ({ id }: TokenRecord): number => Number.parseInt(sha256(id).slice(0, PLACE_DIGITS), 16);

/** What makes a burn of two that are alike: the sequence number in a limit that costs nothing. */
function distinct(
  token: TokenRecord,
  { sequence }: NumberedBurn,
  { priority, sample }: SigningTerms,
): readonly Instruction[] {
  if (priority === undefined) return [setComputeUnitLimit(COMPUTE_UNITS + (sequence % DISTINCT_LIMITS))];
  // With a price the units are what is paid for, and the more of them the later a transaction has its turn.
  return [
    ...budgetFor(priority, sample?.units ?? COMPUTE_UNITS),
    setLoadedAccountsDataSizeLimit(LOADED_BYTES + ((placeOf(token) + sequence) % DISTINCT_LOADED_BYTES)),
  ];
}

function burnInstructions(token: TokenRecord, terms: Burn): readonly Instruction[] {
  const { amount, proofType, proofHash, persistOnchain } = terms;
  const burn = burnChecked({
    ...{ account: token.burnTokenAccount, mint: token.mintAddress, owner: token.burnWallet },
    ...{ amount, decimals: token.decimals, tokenProgram: tokenProgramAddress(token.tokenProgram) },
  });
  if (!persistOnchain) return [burn];
  return [memo(proofMemoText(proofType, proofHash), [token.burnWallet]), burn];
}

/**
 * What burns are signed with now.
 * @param burns - those that will be signed; one that writes a memo takes the most.
 */
export async function burnSigningTerms(
  chain: Chain,
  token: TokenRecord,
  burns: readonly Burn[],
): Promise<SigningTerms> {
  const sample = burns.find(({ persistOnchain }) => persistOnchain) ?? burns[0];
  if (sample === undefined) return chain.latestBlockhash();
  return signingTerms(chain, { payer: token.burnWallet, instructions: burnInstructions(token, sample) });
}

/**
 * The message of a burn.
 *
 * Two burns of the same amount under the same blockhash would be the same bytes, so the same signature, and the second
 * would never land.
 */
const burnMessage = (token: TokenRecord, terms: NumberedBurn, signing: SigningTerms): Uint8Array =>
  compileLegacyMessage({
    payer: token.burnWallet,
    instructions: [...distinct(token, terms, signing), ...burnInstructions(token, terms)],
    blockhash: signing.blockhash,
  });

/** Builds and signs burns. @returns them in their order, as they are signed now */
export async function signBurns<Numbered extends NumberedBurn>(
  token: TokenRecord,
  burnWallet: Signer,
  burns: readonly Numbered[],
  signing: SigningTerms,
): Promise<readonly (Numbered & SignedBurn)[]> {
  const messages = burns.map((terms) => burnMessage(token, terms, signing));
  const { lastValidBlockHeight } = signing;
  const signed = await sign(messages, [burnWallet]);
  return signed.map(({ signature, bytes }, at) => ({
    ...(burns[at] as Numbered),
    ...{ signature, transaction: bytes, lastValidBlockHeight },
  }));
}
