/** The keys that the embedded engine signs with: one file each in the data directory, readable by the user only. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createKeypairSigner, generateKeypair, type KeypairSigner } from '../chain/transaction/signer.js';
import type { Keyring } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import type { Address } from '../values/address.js';
import { exists, readKeypair, writePrivate } from './local-config.js';

/** A keyring whose keys are all in this process. */
export interface FileKeyring extends Keyring {
  get(address: Address): KeypairSigner;
  create(): KeypairSigner;
  /** Keeps a keypair that was given. @returns its file where it was not there yet */
  keep(address: Address, keypair: Uint8Array): string | null;
  forget(address: Address): void;
}

/** Keys in `directory`, each in a file named by its address; read when first needed. */
export function createFileKeyring(directory: string): FileKeyring {
  const signers = new Map<Address, KeypairSigner>();
  const fileOf = (address: Address): string => join(directory, `${address}.json`);
  return {
    get(address) {
      const known = signers.get(address);
      if (known !== undefined) return known;
      const path = fileOf(address);
      const signer = createKeypairSigner(readKeypair(path, 'ERR_STORE_UNAVAILABLE'));
      if (signer.address !== address)
        throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: it has the key of another address.`);
      signers.set(address, signer);
      return signer;
    },
    create() {
      const keypair = generateKeypair();
      const signer = createKeypairSigner(keypair);
      this.keep(signer.address, keypair);
      signers.set(signer.address, signer);
      return signer;
    },
    keep(address, keypair) {
      makePrivateDirectory(directory, 'ERR_CONFIG_INVALID');
      const path = fileOf(address);
      if (exists(path)) return null;
      writePrivate(path, keypairText(keypair));
      return path;
    },
    forget: (address) => rmSync(fileOf(address), { force: true }),
  };
}
