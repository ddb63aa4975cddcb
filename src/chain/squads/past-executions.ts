/** What of a batch was executed before its accounts were closed, from the past of the chain. */

import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { ChainReader, History } from '../chain.js';
import { SQUADS_PROGRAM } from '../programs.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { BatchRef } from './instructions/batch.js';
import { transactionAddress } from './layouts/addresses.js';
import { instructionName } from './layouts/instructions.js';

/**
 * How many transactions of a closed batch were executed; `null` when the node has forgotten some of its past.
 * @param sinceMs - a time before the batch was made. @default as far back as the node knows
 */
export async function countExecutions(
  chain: Pick<ChainReader, 'getTransaction'>,
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
  let [isMade, executed] = [false, 0];
  for (const { signature } of past) {
    const wire = await chain.getTransaction(signature);
    if (wire === null) return null;
    for (const name of squadsInstructions(wire)) {
      if (name === 'batchCreate') isMade = true;
      if (name === 'batchExecuteTransaction') executed += 1;
    }
  }
  // Without its beginning there is no telling what else is missing.
  return isMade ? executed : null;
}

function squadsInstructions(wire: Uint8Array): readonly (string | undefined)[] {
  const { staticKeys, instructions } = decodeTransaction(wire).message;
  return instructions
    .filter(({ programIndex }) => staticKeys[programIndex] === SQUADS_PROGRAM)
    .map(({ data }) => instructionName(data));
}
