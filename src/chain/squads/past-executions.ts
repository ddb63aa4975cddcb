/** What of a batch was executed before its accounts were closed, from the past of the chain. */

import type { ChainReader, History } from '../chain.js';
import { transactionAddress } from './addresses.js';
import type { BatchRef } from './builders.js';
import { readActs } from './past-acts.js';

/**
 * How many transactions of a closed batch were executed; `null` when the node has forgotten some of its past, or some of it
 * cannot be told. Anybody may name a batch in a transaction: only instructions that act on this very batch count, and each of
 * its transactions once.
 *
 * @param sinceMs - a time before the batch was made. @default as far back as the node knows
 */
export async function countExecutions(
  chain: Pick<ChainReader, 'getTransaction' | 'lookUp'>,
  history: History,
  { multisig, batchIndex }: BatchRef,
  sinceMs = 0,
): Promise<number | null> {
  const batch = transactionAddress(multisig, batchIndex).address;
  const past = await readActs(chain, history, [batch], sinceMs);
  if (past === null) return null;
  const { acts } = past;
  const isMade = acts.some(({ name, accounts }) => name === 'batchCreate' && accounts[CREATED] === batch);
  const executed = acts
    .filter(({ name, accounts }) => name === 'batchExecuteTransaction' && accounts[EXECUTED_BATCH] === batch)
    .map(({ accounts }) => accounts[EXECUTED]);
  // Without its beginning there is no telling what else is missing.
  return isMade && !executed.includes(undefined) ? new Set(executed).size : null;
}

/** Places among the accounts: the batch that batchCreate makes, and of batchExecuteTransaction the batch and its transaction. */
const [CREATED, EXECUTED_BATCH, EXECUTED] = [1, 3, 4];
