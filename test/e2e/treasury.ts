/** The creator of the test tokens, who sends transactions through a node as any wallet does. */

import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createTransferCheckedInstruction, getAssociatedTokenAddressSync } from '@solana/spl-token';
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import { expect } from 'vitest';
import { statusOf } from '../support/rpc-call.js';

const treasury = Keypair.fromSeed(createHash('sha256').update('treasury').digest());
export const TREASURY = treasury.publicKey;
const DECIMALS = 6;

/** Waits until the transaction is final. */
export async function landByTreasury(
  url: string,
  ...instructions: readonly TransactionInstruction[]
): Promise<void> {
  const transaction = new Transaction().add(...instructions);
  const signature = await new Connection(url, 'confirmed').sendTransaction(transaction, [treasury]);
  let status = await statusOf(url, signature);
  for (; status?.confirmationStatus !== 'finalized'; status = await statusOf(url, signature))
    await setTimeout(20);
  expect(status.err).toBeNull();
}

export function sendByTreasury(
  url: string,
  mint: string,
  { to, tokens, lamports }: { readonly to: string; readonly tokens: bigint; readonly lamports: bigint },
): Promise<void> {
  const [token, wallet] = [new PublicKey(mint), new PublicKey(to)];
  const accountOf = (owner: PublicKey) => getAssociatedTokenAddressSync(token, owner, true);
  const units = tokens * 10n ** BigInt(DECIMALS);
  return landByTreasury(
    url,
    SystemProgram.transfer({ fromPubkey: TREASURY, toPubkey: wallet, lamports }),
    createTransferCheckedInstruction(
      accountOf(TREASURY),
      token,
      accountOf(wallet),
      TREASURY,
      units,
      DECIMALS,
    ),
  );
}
