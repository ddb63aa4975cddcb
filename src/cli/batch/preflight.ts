/** What the later steps of `batch run` will need, looked at before the first one costs anything. */
import { readVoters } from '../../approval/read-batch.js';
import type { Signer } from '../../chain/transaction/signer.js';
import { address } from '../../values/address.js';
import type { OpenedService } from '../context.js';
import { noChain, refuse, requirePins } from './pins.js';

/**
 * @throws `ERR_APPROVAL_REFUSED` when the owner could not approve the batch in the end; `ERR_UNAVAILABLE` when the chain that
 * it would be checked against is out of reach.
 */
export async function requireApprovable(
  { trusted, chain }: Pick<OpenedService, 'trusted' | 'chain'>,
  signer: Signer,
  allowUnverified: boolean,
): Promise<void> {
  const pinned = requirePins(trusted, signer, allowUnverified);
  if (pinned === null) return;
  if (chain === null) {
    if (allowUnverified) return;
    throw noChain();
  }
  const voters = await readVoters(chain, address(pinned.multisig));
  for (const member of [pinned.owner, pinned.operator]) {
    if (!voters.includes(address(member)))
      throw refuse(`${member} may not vote in the multisig ${pinned.multisig}.`);
  }
}
