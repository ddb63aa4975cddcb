/** The keys that the embedded engine signs with: one file each in the data directory, readable by the user only. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeypairSigner, generateKeypair, type KeypairSigner } from '../chain/transaction/signer.js';
import type { Keyring } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText, parseKeypairText } from '../files/keypair-file.js';
import { fileProblem } from '../files/read-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import type { Address } from '../values/address.js';
import { writePrivate } from './local-config.js';

/** A keyring whose keys are all in this process. */
export interface FileKeyring extends Keyring {
  get(address: Address): KeypairSigner;
  create(): KeypairSigner;
}

/** Keys in `directory`, each in a file named by its address; read when first needed. */
export function createFileKeyring(directory: string): FileKeyring {
  const signers = new Map<Address, KeypairSigner>();
  return {
    get(address) {
      const known = signers.get(address);
      if (known !== undefined) return known;
      const signer = readSigner(join(directory, `${address}.json`), address);
      signers.set(address, signer);
      return signer;
    },
    create() {
      makePrivateDirectory(directory, 'ERR_CONFIG_INVALID');
      const keypair = generateKeypair();
      const signer = createKeypairSigner(keypair);
      writePrivate(join(directory, `${signer.address}.json`), keypairText(keypair));
      signers.set(signer.address, signer);
      return signer;
    },
  };
}

function readSigner(path: string, address: Address): KeypairSigner {
  const signer = createKeypairSigner(readKeypair(path));
  if (signer.address === address) return signer;
  throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: it holds the key of another address.`);
}

function readKeypair(path: string): Uint8Array {
  const refuse = (reason: string): FlywheelError =>
    new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: the key cannot be read: ${reason}.`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  const parsed = parseKeypairText(text);
  if ('problem' in parsed) throw refuse('it is damaged');
  return parsed.bytes;
}
