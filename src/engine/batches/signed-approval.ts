/**
 * Is this the owner's approval of this batch? Byte for byte the one that was issued, or, once that has expired, the same
 * single instruction under a newer blockhash with the owner as payer. Nothing else is ever landed.
 */
import { proposalApprove } from '../../chain/squads/instructions/proposal.js';
import { compileLegacyMessage, compileV0Message } from '../../chain/transaction/compile.js';
import { verifySignature } from '../../chain/transaction/signer.js';
import { decodeTransaction, type WireTransaction } from '../../chain/transaction/wire.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { Address } from '../../values/address.js';
import { base58Encode } from '../../values/base58.js';
import { sameBytes } from '../../values/bytes.js';
import { hasExpired } from '../expiry.js';
import type { BatchScene } from './scene.js';

export interface SignedApproval {
  readonly bytes: Uint8Array;
  /** Base58; the transaction's name on the chain. */
  readonly signature: string;
  readonly payer: Address;
}

const refuse = (reason: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_SIGNED_TX', `The signed transaction is refused: ${reason}.`);

/**
 * Checks a signed approval.
 * @param height - of the chain now, which tells whether the issued approval has expired.
 * @throws `ERR_INVALID_SIGNED_TX` saying whether it cannot be decoded, is another transaction, or lacks a valid signature.
 */
export function checkSignedApproval(
  scene: BatchScene,
  batch: BatchRecord,
  signedTx: string,
  height: bigint,
): SignedApproval {
  const bytes = Uint8Array.from(Buffer.from(signedTx, 'base64'));
  const transaction = decode(bytes);
  if (!isIssued(batch, transaction) && !isRenewed(scene, batch, transaction, height)) {
    throw refuse(`it is not the approval that was issued for batch ${batch.id}`);
  }
  checkSignatures(transaction);
  const [signature] = transaction.signatures;
  const [payer] = transaction.message.staticKeys;
  invariant(signature !== undefined && payer !== undefined, 'An approval has a payer.');
  return { bytes, signature: base58Encode(signature), payer };
}

function decode(bytes: Uint8Array): WireTransaction {
  try {
    return decodeTransaction(bytes);
  } catch (error) {
    throw refuse(`it cannot be decoded (${(error as Error).message.replace(/\.$/, '')})`);
  }
}

function isIssued(batch: BatchRecord, transaction: WireTransaction): boolean {
  invariant(batch.approvalTx !== null, 'A finalized batch has an approval.');
  const issued = decodeTransaction(Buffer.from(batch.approvalTx, 'base64'));
  return sameBytes(issued.messageBytes, transaction.messageBytes);
}

function isRenewed(
  { flywheel }: BatchScene,
  batch: BatchRecord,
  transaction: WireTransaction,
  height: bigint,
): boolean {
  const { approvalLastValidBlockHeight: lastValid, batchIndex } = batch;
  if (lastValid === null || !hasExpired(lastValid, height)) return false;
  const { owner, multisig } = flywheel;
  const input = {
    payer: owner,
    instructions: [proposalApprove({ multisig, batchIndex, member: owner })],
    blockhash: base58Encode(transaction.message.blockhash),
  };
  const { messageBytes } = transaction;
  return (
    sameBytes(compileV0Message(input), messageBytes) || sameBytes(compileLegacyMessage(input), messageBytes)
  );
}

function checkSignatures({ message, messageBytes, signatures }: WireTransaction): void {
  if (signatures.length !== message.requiredSignatures)
    throw refuse('it does not carry the signatures that it asks for');
  for (const [index, signature] of signatures.entries()) {
    const signer = message.staticKeys[index];
    if ([...signature].every((byte) => byte === 0)) throw refuse(`the signature of ${signer} is missing`);
    if (signer === undefined || !verifySignature(signer, messageBytes, signature)) {
      throw refuse(`the signature of ${signer} is wrong`);
    }
  }
}
