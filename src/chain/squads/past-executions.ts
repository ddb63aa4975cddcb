/** What of a batch was executed before its accounts were closed, from the past of the chain. */

import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { ChainReader, History } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { BatchRef } from './instructions/batch.js';
import { transactionAddress } from './layouts/addresses.js';
import { instructionName } from './layouts/instructions.js';

/** A call of the multisig program from within another program, as the logs of a transaction tell it. */
const INNER_CALL = new RegExp(`^Program ${SQUADS_PROGRAM} invoke \\[([2-9]|[1-9]\\d)\\]$`);

/**
 * How many transactions of a closed batch were executed; `null` when the node has forgotten some of its past, or some of it
 * is not known. Anybody may name a batch in a transaction: only instructions that act on this very batch count, and each of
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
  const past = await history.pastOf(batch, sinceMs).catch((error: unknown) => {
    // Not every node answers questions about the past.
    if (isFlywheelError(error, 'ERR_UNAVAILABLE')) return [];
    throw error;
  });
  const records = await chain.lookUp(past.map(({ signature }) => signature));
  // What another program has called is not in the transaction itself.
  if (records.some((record) => record?.logs.some((line) => INNER_CALL.test(line)) === true)) return null;
  const acts: SquadsInstruction[] = [];
  for (const { signature } of past) {
    const wire = await chain.getTransaction(signature);
    if (wire === null) return null;
    acts.push(...squadsInstructions(wire));
  }
  const isMade = acts.some(({ name, accounts }) => name === 'batchCreate' && accounts[CREATED] === batch);
  const executed = acts
    .filter(({ name, accounts }) => name === 'batchExecuteTransaction' && accounts[EXECUTED_BATCH] === batch)
    .map(({ accounts }) => accounts[EXECUTED]);
  // Without its beginning there is no telling what else is missing.
  return isMade && !executed.includes(undefined) ? new Set(executed).size : null;
}

/** Places among the accounts: the batch that batchCreate makes, and of batchExecuteTransaction the batch and its transaction. */
const [CREATED, EXECUTED_BATCH, EXECUTED] = [1, 3, 4];

interface SquadsInstruction {
  readonly name: string | undefined;
  /** An account that is only in a lookup table is `undefined`. */
  readonly accounts: readonly (Address | undefined)[];
}

function squadsInstructions(wire: Uint8Array): readonly SquadsInstruction[] {
  const { staticKeys, instructions } = decodeTransaction(wire).message;
  return instructions
    .filter(({ programIndex }) => staticKeys[programIndex] === SQUADS_PROGRAM)
    .map(({ data, accountIndexes }) => ({
      name: instructionName(data),
      accounts: Array.from(accountIndexes, (index) => staticKeys[index]),
    }));
}
