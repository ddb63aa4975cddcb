/** Which flywheel a service is of: under each of its addresses it is one place, and what was begun at one goes on at another. */
import { address } from '../../values/address.js';
import type { Session } from '../command.js';
import { callWith, canBeDoneWithout } from '../send.js';

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
    if (!(await canBeDoneWithout(session, error))) throw error;
  }
}
