/** One burn as one signed transaction: compute limit, optional memo of the proof, BurnChecked. */
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

/** Memo and burn together use less than 15,000 (squads-v4.md, section 10). */
const COMPUTE_UNITS = 100_000;
const DISTINCT_LIMITS = 1_000_000;
const LOADED_BYTES = 32 * 1_024 * 1_024;
/** The maximum is 64 MiB, which is also the default. */
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

/** Offset of this registration: another registration of the same burn wallet also counts sequences from 1. */
const placeOf = ({ id }: TokenRecord): number => Number.parseInt(sha256(id).slice(0, PLACE_DIGITS), 16);

/** Encodes the sequence number in a limit that costs nothing, so that equal burns differ in bytes. */
function distinct(
  token: TokenRecord,
  { sequence }: NumberedBurn,
  { priority, sample }: SigningTerms,
): readonly Instruction[] {
  if (priority === undefined) return [setComputeUnitLimit(COMPUTE_UNITS + (sequence % DISTINCT_LIMITS))];
  // With a priority fee, units cost money and lower the priority, so the data-size limit carries the number.
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
 * Two burns of one amount under one blockhash would have the same bytes and signature, and the second would never land; the
 * sequence number keeps them distinct.
 */
const burnMessage = (token: TokenRecord, terms: NumberedBurn, signing: SigningTerms): Uint8Array =>
  compileLegacyMessage({
    payer: token.burnWallet,
    instructions: [...distinct(token, terms, signing), ...burnInstructions(token, terms)],
    blockhash: signing.blockhash,
  });

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
