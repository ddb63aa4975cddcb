/** Who keeps the keys of the operator and the burn wallet: files of the data directory, whoever gave a keypair, or a program. */
import type { KeypairSigner, Signer } from '../chain/transaction/signer.js';
import type { KeyRole, Keyring } from '../engine/deps.js';
import { FlywheelError } from '../errors/flywheel-error.js';
import { commandWords } from '../signing/command-words.js';
import { createProgramSigner } from '../signing/program-signer.js';
import type { Address } from '../values/address.js';
import type { FileKeyring } from './file-keyring.js';

/** Who signs, and the setting that says so. */
export type KeySource =
  | { readonly kind: 'program'; readonly command: string; readonly setting: string }
  | { readonly kind: 'keypair'; readonly setting: string; load(): Promise<KeypairSigner> };

/** By role; of what is not named, the key lies in the data directory. */
export type Custody = Readonly<Partial<Record<Exclude<KeyRole, 'treasury'>, KeySource>>>;

export interface CustodyTerms {
  /** The environment that programs get. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends programs when it is aborted. @default they run until the keyring is closed */
  readonly signal?: AbortSignal | undefined;
}

/** A keyring with programs that run until it is closed. */
export interface OpenedKeyring extends Keyring {
  close(): Promise<void>;
}

/** A signer, and how what it has started is ended. */
interface Kept {
  readonly signer: Signer;
  close(): Promise<void>;
}

/** A key that is read when it is first needed; it has to be that of the address. */
function createLateSigner(
  address: Address,
  role: KeyRole,
  { setting, load }: Extract<KeySource, { kind: 'keypair' }>,
): Signer {
  let loaded: Promise<KeypairSigner> | undefined;
  const own = async (): Promise<KeypairSigner> => {
    loaded ??= load();
    const keypair = await loaded;
    if (keypair.address === address) return keypair;
    throw new FlywheelError(
      'ERR_KEYPAIR_INVALID',
      `${setting} is the key of ${keypair.address}, and the ${role} of this flywheel is ${address}; nothing was signed.`,
    );
  };
  return {
    address,
    takesTime: true,
    sign: async (message) => (await own()).sign(message),
    signAll: async (messages) => (await own()).signAll(messages),
  };
}

function keep(address: Address, role: KeyRole, source: KeySource, terms: CustodyTerms): Kept {
  if (source.kind === 'keypair')
    return { signer: createLateSigner(address, role, source), close: async () => {} };
  const words = commandWords(source.command, source.setting);
  const signer = createProgramSigner({ ...terms, address, role, words });
  return { signer, close: () => signer.close() };
}

/**
 * Keys from wherever custody says; new ones are made in the data directory.
 * @throws `ERR_CONFIG_INVALID` for a command that is none.
 */
export function createKeyring(files: FileKeyring, custody: Custody, terms: CustodyTerms): OpenedKeyring {
  for (const source of Object.values(custody))
    if (source.kind === 'program') commandWords(source.command, source.setting);
  const kept = new Map<string, Kept>();
  return {
    get(address, role) {
      const source = role === 'treasury' ? undefined : custody[role];
      if (source === undefined) return files.get(address);
      const name = `${role} ${address}`;
      const found = kept.get(name) ?? keep(address, role, source, terms);
      kept.set(name, found);
      return found.signer;
    },
    create: () => files.create(),
    close: async () => {
      await Promise.all([...kept.values()].map(({ close }) => close()));
    },
  };
}
