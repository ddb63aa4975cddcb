/** What of a batch was executed before its accounts were closed, from the past of the chain. */
import type { ChainReader, History } from '../../chain/chain.js';
import { SQUADS_PROGRAM } from '../../chain/programs.js';
import { transactionAddress } from '../../chain/squads/layouts/addresses.js';
import { instructionName } from '../../chain/squads/layouts/instructions.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';

/** How many transactions of a closed batch were executed; `null` when the node has forgotten some of its past. */
export async function countExecutions(
  chain: ChainReader,
  history: History,
  multisig: string,
  batchIndex: bigint,
): Promise<number | null> {
  const batch = transactionAddress(address(multisig), batchIndex).address;
  const past = await history.pastOf(batch, 0).catch((error: unknown) => {
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
