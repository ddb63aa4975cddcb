/** Does an execution need a signed approval, or does the owner's stand on chain? */

import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Uuid } from '../../values/uuid.js';
import type { Session } from '../command.js';
import { commandLine } from '../operation/resume-line.js';
import { callWith, isNotOffered } from '../send.js';
import { batchName } from './approval-source.js';
import { getBatch, isFinal } from './initiate.js';

/**
 * Does a batch need no approval of its owner, because it is over, or that stands on the chain that is read? Where none can be read
 * the answer is no.
 * @param known - the batch, where it was asked for already.
 */
export async function needsNoApproval(session: Session, batchId: string, known?: Batch): Promise<boolean> {
  const { chain, pins } = await session.service();
  if (chain === null || pins === null) return false;
  const batch = known ?? (await getBatch(session, batchId));
  if (isFinal(batch)) return true;
  if (batch.status !== 'FINALIZED') return false;
  const multisig = pins.multisig;
  const { batchIndex } = batchName(batch);
  const found = await readBatchAccounts(chain, { multisig, batchIndex }, 0);
  const proposal = found.proposal.value;
  // Closed, where the multisig has made it.
  if (proposal === null) return (found.multisig.value?.transactionIndex ?? 0n) >= batchIndex;
  const { kind } = proposal.status;
  return (kind !== 'Draft' && kind !== 'Active') || proposal.approved.includes(pins.owner);
}

/**
 * Makes sure that the service executes by an approval that stands on chain. Services that do so are those that hand out fresh
 * approvals (contract, section 1.7); asking for one changes nothing.
 * @throws `ERR_NOT_FOUND` naming what to do instead.
 */
export async function requireExecutesFromChain(session: Session, batchId: Uuid): Promise<void> {
  const opened = await session.service();
  try {
    await opened.service.issueApproval({ batchId }, callWith(session, opened));
  } catch (error) {
    if (!isNotOffered(error)) {
      // It knows the operation, and says that this batch needs no approval.
      if (isFlywheelError(error, 'ERR_INVALID_REQUEST')) return;
      throw error;
    }
    throw new FlywheelError(
      'ERR_NOT_FOUND',
      'This service needs the signed approval in the request. It does not accept an approval that is already on chain.',
      {
        hint: `Sign with a keypair: ${commandLine(session.settings, 'batch', 'execute', batchId)} --keypair FILE`,
      },
    );
  }
}
