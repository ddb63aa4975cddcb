/** The flywheel that the user trusts, as the one that a keypair may vote in. */
import type { Flywheel } from '../../chain/flywheel.js';
import type { Signer } from '../../chain/transaction/signer.js';
import { decodeTransaction } from '../../chain/transaction/wire.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';

export const refuse = (message: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_APPROVAL_REFUSED', message, hint === undefined ? {} : { hint });

/**
 * The pinned flywheel, if the keypair is that of its owner; `null` where nothing is pinned and that is allowed.
 * @throws `ERR_APPROVAL_REFUSED`
 */
export function requirePins(
  trusted: Flywheel | null,
  signer: Signer,
  allowUnverified: boolean,
): Flywheel | null {
  if (trusted === null) {
    if (allowUnverified) return null;
    throw refuse(
      'Nothing is pinned for this flywheel, so its votes cannot be told from others.',
      'Pin it: `flywheel profile add NAME --multisig … --owner … --operator … --mint …`; or add --allow-unverified.',
    );
  }
  if (signer.address === trusted.owner) return trusted;
  throw refuse(`The keypair is that of ${signer.address}; the owner of the flywheel is ${trusted.owner}.`);
}

/** @throws `ERR_APPROVAL_REFUSED` */
export const noChain = (): FlywheelError =>
  refuse(
    'No chain can be read, so what the batch does cannot be checked.',
    'Set FLYWHEEL_RPC_URL to an RPC of your own, or add --allow-unverified.',
  );

/** Who pays is not known beforehand then: whoever is in the payer's place. What cannot be decoded is refused by the check. */
export function payersOf(wire: Uint8Array, signer: Signer): readonly Address[] {
  try {
    const payer = decodeTransaction(wire).message.staticKeys[0];
    return payer === undefined ? [signer.address] : [payer, signer.address];
  } catch {
    return [signer.address];
  }
}
