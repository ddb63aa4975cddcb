/** Sources of the operator's and the burn wallet's key: files of the data directory, a given keypair, or a signer program. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
  type Signer,
} from '../chain/transaction/sign.js';
import type { Keyring } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { keypairText } from '../files/keypair-file.js';
import { makePrivateDirectory } from '../files/write-file.js';
import { commandWords, ProgramSigner } from '../signing/program-signer.js';
import type { Address } from '../values/address.js';
import type { Ambient } from './context.js';
import { type ClusterConfig, dataFiles, exists, readKeypair, writePrivate } from './local-config.js';
import type { Opened } from './opened.js';
import type { KeyKeeper, Settings } from './settings.js';

interface FileKeyring extends Keyring {
  get(address: Address): KeypairSigner;
  create(): KeypairSigner;
  /** Stores a given keypair. @returns the path of its file, `null` if the file existed */
  keep(address: Address, keypair: Uint8Array): string | null;
  forget(address: Address): void;
}

/** Each key is in a file named by its address and read at first use. */
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
        throw new FlywheelError('ERR_STORE_UNAVAILABLE', `${path}: the key belongs to another address.`);
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

const SETTINGS = { operator: 'operator', 'burn wallet': 'burnWallet' } as const;

type Custodian = keyof typeof SETTINGS;

/** Reads the key at its first signature. @throws `ERR_KEYPAIR_INVALID` if it is the key of another address */
function createLateSigner(
  address: Address,
  role: Custodian,
  { where, load }: Extract<KeyKeeper, { load: unknown }>,
): Signer {
  let loaded: Promise<KeypairSigner> | undefined;
  const own = async (): Promise<KeypairSigner> => {
    loaded ??= load();
    const keypair = await loaded;
    if (keypair.address === address) return keypair;
    throw new FlywheelError(
      'ERR_KEYPAIR_INVALID',
      `${where} is the key of ${keypair.address}, but the ${role} of this project is ${address}. Nothing was signed.`,
    );
  };
  return {
    address,
    signAll: async (messages) => (await own()).signAll(messages),
  };
}

/**
 * Keys from the source in the settings, else from the data directory; new keys are stored there.
 * @param opened - closes the signer programs
 * @param stored - signer programs of the data directory's registration
 * @param outlivesSignal - keep programs running after an interrupt, until they are closed
 * @throws `ERR_CONFIG_INVALID` for an invalid command
 */
export function openKeyring(
  opened: Opened,
  ambient: Ambient,
  { signers, dataDir }: Pick<Settings, 'signers' | 'dataDir'>,
  stored: ClusterConfig['signers'] = {},
  outlivesSignal = false,
): Keyring {
  const files = createFileKeyring(dataFiles(dataDir.value).keys);
  const keeperOf = (role: Custodian) => {
    const { value, source } = signers[SETTINGS[role]];
    const command = stored[SETTINGS[role]];
    // The registration's program overrides a profile, which may be of another project.
    const isStored = command !== undefined && (value === null || source === 'profile');
    const keeper = isStored ? { command, where: 'The program in local.json' } : value;
    if (keeper === null || 'load' in keeper) return keeper;
    return { words: commandWords(keeper.command, keeper.where) };
  };
  const keepers = { operator: keeperOf('operator'), 'burn wallet': keeperOf('burn wallet') };
  const signerOf = (
    address: Address,
    role: Custodian,
    keeper: NonNullable<ReturnType<typeof keeperOf>>,
  ): Signer => {
    if ('load' in keeper) return createLateSigner(address, role, keeper);
    const signal = outlivesSignal ? undefined : ambient.signal;
    return opened.keep(new ProgramSigner({ env: ambient.env, signal, address, role, words: keeper.words }));
  };
  const kept = new Map<string, Signer>();
  return {
    get(address, role) {
      const keeper = role === 'treasury' ? null : keepers[role];
      if (role === 'treasury' || keeper === null) return files.get(address);
      const name = `${role} ${address}`;
      const signer = kept.get(name) ?? signerOf(address, role, keeper);
      kept.set(name, signer);
      return signer;
    },
    create: () => files.create(),
  };
}
