/** A batch that is over, from its transactions: what it held, decoded as one that waits is, and what of that was executed. */

import type { ChainReader, TransactionRecord } from '../chain/chain.js';
import { vaultAddress } from '../chain/squads/addresses.js';
import type { BatchRef } from '../chain/squads/builders.js';
import { type PastBatch, readPastBatch } from '../chain/squads/history.js';
import type { Message } from '../chain/transaction/message.js';
import { type BatchContent, contentOf, decodedTransaction } from './batch-content.js';

/** What a batch held. */
export interface PastDescription extends BatchRef, BatchContent {
  readonly batch: Pick<PastBatch, 'creator'>;
  readonly votes: PastBatch['votes'];
  /** The transaction that executed each, in their order; `null`: it was not executed. */
  readonly executions: readonly (TransactionRecord | null)[];
}

/** What nobody could have executed. */
const MALFORMED: Message = {
  signers: 1,
  writableSigners: 0,
  writableNonSigners: 0,
  staticKeys: [],
  instructions: [],
  lookups: [],
};

/**
 * Reads a batch from the past of the chain alone.
 * @returns `null` when the node has forgotten some of it, or some of it cannot be told.
 */
export async function readPastContent(
  chain: Pick<ChainReader, 'lookUp' | 'history'>,
  ref: BatchRef,
): Promise<PastDescription | null> {
  const past = await readPastBatch(chain, ref);
  if (past === null) return null;
  const { address: vault } = vaultAddress(ref.multisig, past.vaultIndex);
  const transactions = past.transactions.map(({ number, address, message, ephemeralSigners }) =>
    decodedTransaction({ number, address, ephemeralSigners, message: message ?? MALFORMED }),
  );
  return {
    multisig: ref.multisig,
    batchIndex: ref.batchIndex,
    batch: { creator: past.creator },
    votes: past.votes,
    executions: past.transactions.map(({ executed }) => executed),
    ...contentOf(transactions, vault),
  };
}
