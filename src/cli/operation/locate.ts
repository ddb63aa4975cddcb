/** Which flywheel a service is of: under each of its addresses it is one place, and what was begun at one goes on at another. */
import { isFlywheelError } from '../../errors/flywheel-error.js';
import { address } from '../../values/address.js';
import type { Session } from '../command.js';
import { callWith } from '../send.js';
import { BY_NOTES } from './done-there.js';

/**
 * Asks the service, where no pins say it; one that has no such question is told by its address.
 * @throws where it does not answer, and nothing was sent then.
 */
export async function locate(session: Session): Promise<void> {
  const opened = await session.service();
  if (opened.locate === null) return;
  try {
    const { value } = await opened.service.describeKey(callWith(session, opened));
    const { multisig, mintAddress } = value;
    if (multisig != null) opened.locate({ multisig: address(multisig), mint: address(mintAddress) });
  } catch (error) {
    if (isAnswer(error)) return;
    if (!session.isDryRun) throw error;
    session.output.tell(BY_NOTES);
  }
}

/** It answers, and does not say it; whatever that means, what is sent next will come to know. */
const isAnswer = (error: unknown): boolean =>
  isFlywheelError(error) &&
  (error.code === 'ERR_RESPONSE_INVALID' || ((error.status ?? 500) < 500 && error.status !== 429));
