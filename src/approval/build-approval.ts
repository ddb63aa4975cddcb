/** Approvals: a fresh one to sign, and a signature put into one that came. Whether it should be signed is decided before. */

import { voteMessage } from '../chain/squads/builders.js';
import type { KeypairSigner } from '../chain/transaction/sign.js';
import { decodeTransaction, encodeTransaction, unsigned } from '../chain/transaction/wire.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';

/** What {@link buildApproval} needs. */
interface BuildApprovalInput {
  /** The member who approves. */
  readonly owner: Address;
  readonly multisig: Address;
  readonly batchIndex: bigint;
  readonly blockhash: string;
  /** Who pays the fee. @default the owner */
  readonly feePayer?: Address;
}

/**
 * The approval of a batch, unsigned: one `proposalApprove` and nothing else, version 0.
 * @returns wire bytes with 64 zeros for each signature.
 */
export const buildApproval = ({
  owner,
  multisig,
  batchIndex,
  blockhash,
  feePayer,
}: BuildApprovalInput): Uint8Array =>
  unsigned(
    voteMessage({
      kind: 'approve',
      multisig,
      batchIndex,
      member: owner,
      payer: feePayer ?? owner,
      blockhash,
    }),
  );

/**
 * Puts a signer's signature into its place; every other byte stays as it is.
 * @throws `ERR_INVALID_REQUEST` when the transaction does not ask for this signature.
 */
export function addSignature(wire: Uint8Array, signer: KeypairSigner): Uint8Array {
  const { signatures, message, messageBytes } = decodeTransaction(wire);
  const place = message.staticKeys.indexOf(signer.address);
  if (place < 0 || place >= message.signers || place >= signatures.length) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `The transaction needs no signature of ${signer.address}.`,
    );
  }
  const signed = signatures.map((signature, index) =>
    index === place ? signer.signNow(messageBytes) : signature,
  );
  return encodeTransaction(signed, messageBytes);
}
