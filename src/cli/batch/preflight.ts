/** What the later steps of `batch run` will need, looked at before the first one costs anything. */
import { checkVoters } from '../../approval/check-content.js';
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { requireUnchanged } from '../../approval/pins.js';
import { readMultisigAccount } from '../../approval/read-batch.js';
import type { Address } from '../../values/address.js';
import type { OpenedService } from '../context.js';
import { requireChain, requireOwner, requirePins, unpinned } from './pins.js';

interface Prospects {
  /** Whose keypair will sign; `null` where that is not known yet. */
  readonly owner: Address | null;
  /** Somebody can be asked whether the flywheel is as it should be. */
  readonly canBePinned: boolean;
}

/**
 * @returns the token, where the flywheel is known.
 * @throws `ERR_APPROVAL_REFUSED` when the owner could not approve the batch in the end; `ERR_UNAVAILABLE` when the chain that
 * it would be checked against is out of reach.
 */
export async function requireApprovable(
  opened: Pick<OpenedService, 'pins' | 'chain'>,
  { owner, canBePinned }: Prospects,
): Promise<TokenOnChain | null> {
  const chain = requireChain(opened);
  if (opened.pins === null && canBePinned) return null;
  const pins = requirePins(opened.pins);
  if (owner !== null) requireOwner(pins, owner);
  const multisig = await readMultisigAccount(chain, pins.multisig);
  checkVoters(multisig, pins);
  const token = await readTokenOnChain(chain, pins);
  if (pins.facts !== undefined) requireUnchanged(pins.facts, { ...multisigFacts(multisig), ...token.facts });
  else if (!canBePinned) throw unpinned(pins);
  return token;
}
