/** The owner's keypair file of a data directory, read for its address or to be exported. */
import { readFileSync } from 'node:fs';
import { createKeypairSigner } from '../chain/transaction/signer.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { fileProblem } from '../files/file-problem.js';
import { parseKeypairText } from '../files/keypair-file.js';
import type { Address } from '../values/address.js';

/** @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content. */
export function readOwnerKeypair(path: string): { readonly bytes: Uint8Array; readonly address: Address } {
  const refuse = (reason: string): FlywheelError =>
    new FlywheelError('ERR_KEYPAIR_INVALID', `${path}: ${reason}.`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  const parsed = parseKeypairText(text);
  if ('problem' in parsed) throw refuse('it is no keypair file');
  return { bytes: parsed.bytes, address: createKeypairSigner(parsed.bytes).address };
}
