/** The owner's keypair file of a data directory: read, and copied out. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createKeypairSigner } from '../chain/transaction/signer.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText, parseKeypairText } from '../files/keypair-file.js';
import { fileProblem } from '../files/read-file.js';
import { writeFileAtomic } from '../files/write-file.js';
import type { Address } from '../values/address.js';
import { PRIVATE_FILE_MODE, requireLocalConfig } from './local-config.js';

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

/** Copies it to a file that is not there yet. @throws as {@link readOwnerKeypair} */
export function exportOwner(
  { dataDir, cwd }: { readonly dataDir: string; readonly cwd: string },
  outFile: string,
): { address: Address; keypair: string } {
  const { bytes, address } = readOwnerKeypair(requireLocalConfig(dataDir).ownerKeypair);
  const keypair = resolve(cwd, outFile);
  writeFileAtomic(keypair, keypairText(bytes), 'ERR_INPUT_INVALID', {
    mode: PRIVATE_FILE_MODE,
    exclusive: true,
  });
  bytes.fill(0);
  return { address, keypair };
}
