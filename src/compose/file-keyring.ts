/** The keys that the embedded engine signs with: one file each in the data directory, readable by the user only. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeypairSigner, generateKeypair, type Signer } from '../chain/transaction/signer.js';
import { fileProblem } from '../cli/files/read-input.js';
import { makePrivateDirectory } from '../cli/files/write-file.js';
import type { Keyring } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import type { Address } from '../values/address.js';
import { writePrivate } from './home.js';

/** A keypair as the Solana CLI writes it: a JSON array of 64 numbers. */
export const keypairText = (keypair: Uint8Array): string => `${JSON.stringify([...keypair])}\n`;

/** Keys in `directory`, each in a file named by its address; read when first needed. */
export function createFileKeyring(directory: string): Keyring {
  const signers = new Map<Address, Signer>();
  return {
    get(address) {
      const known = signers.get(address);
      if (known !== undefined) return known;
      const signer = readSigner(join(directory, `${address}.json`), address);
      signers.set(address, signer);
      return signer;
    },
    create() {
      makePrivateDirectory(directory);
      const keypair = generateKeypair();
      const signer = createKeypairSigner(keypair);
      writePrivate(join(directory, `${signer.address}.json`), keypairText(keypair));
      signers.set(signer.address, signer);
      return signer;
    },
  };
}

function readSigner(path: string, address: Address): Signer {
  const signer = createKeypairSigner(readKeypair(path));
  if (signer.address === address) return signer;
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: it holds the key of another address.`);
}

function readKeypair(path: string): Uint8Array {
  try {
    return Uint8Array.from(JSON.parse(readFileSync(path, 'utf8')) as number[]);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'it is damaged' : fileProblem(cause);
    // A parser quotes what it reads, so its error is not kept: it could hold the key.
    throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: the key cannot be read: ${reason}.`);
  }
}
