/** The owner's keypair file of a data directory, read for its address or to be exported. */
import { readFileSync } from 'node:fs';
import { createKeypairSigner } from '../chain/transaction/signer.js';
import { fileProblem } from '../cli/files/read-input.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';

/** @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content. */
export function readOwnerKeypair(path: string): { readonly bytes: Uint8Array; readonly address: Address } {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.from(JSON.parse(readFileSync(path, 'utf8')) as number[]);
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'it is no keypair file' : fileProblem(error);
    throw new FlywheelError('ERR_KEYPAIR_INVALID', `${path}: ${reason}.`);
  }
  return { bytes, address: createKeypairSigner(bytes).address };
}
