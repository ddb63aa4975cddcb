/** A registration that has begun: what was wanted, the keys that were made for it, and what was signed last. */
import { rmSync } from 'node:fs';
import * as z from 'zod';
import { createKeypairSigner, generateKeypair } from '../../chain/transaction/sign.js';
import type { ClusterRegistration } from '../../contract/registration.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { readIfThere } from '../../files/read-file.js';
import { type Address, address, isAddress } from '../../values/address.js';
import { writePrivate } from '../local-config.js';

const key = z.custom<Address>((value) => typeof value === 'string' && isAddress(value));

const FILE = z.object({
  version: z.literal(2),
  /** What makes one registration another one, each setting as JSON text. */
  wanted: z.record(z.string(), z.string()),
  burnWallet: key,
  /** Lends the multisig its address; `null` where that is there already. */
  createKey: key.nullable(),
  /** The transaction that was signed last; it lies here before it is sent. */
  sent: z.object({ signature: z.string(), wire: z.base64(), lastValidBlockHeight: z.string() }).nullable(),
});

export type UnfinishedRegistration = Readonly<Omit<z.infer<typeof FILE>, 'version'>>;

/** @returns `null` where none has begun. @throws `ERR_STORE_UNAVAILABLE` for a file that cannot be read. */
export function readUnfinished(path: string): UnfinishedRegistration | null {
  const text = readIfThere(path);
  if (text === undefined) return null;
  try {
    const { version: _version, ...found } = FILE.parse(JSON.parse(text));
    return found;
  } catch (cause) {
    throw new FlywheelError(
      'ERR_STORE_UNAVAILABLE',
      `${path}: the file is damaged, or was written by another version of flywheel.`,
      { cause },
    );
  }
}

export const writeUnfinished = (path: string, begun: UnfinishedRegistration): void =>
  writePrivate(path, `${JSON.stringify({ version: 2, ...begun })}\n`);

export const forgetUnfinished = (path: string): void => rmSync(path, { force: true });

const textsOf = (wanted: object): UnfinishedRegistration['wanted'] =>
  Object.fromEntries(
    Object.entries(wanted)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === 'bigint' ? value.toString() : JSON.stringify(value)]),
  );

/**
 * What was begun is carried on where it is the same; what has sent nothing yet makes way for another.
 * @param keys - takes the keypairs that are made.
 * @throws `ERR_LOCAL_ALREADY_EXISTS` where another one has sent something.
 */
export function begin(
  wanted: ClusterRegistration & { readonly genesisHash: string },
  found: UnfinishedRegistration | null,
  keys: Map<Address, Uint8Array>,
): UnfinishedRegistration {
  const texts = textsOf(wanted);
  const names = Object.keys({ ...found?.wanted, ...texts }).sort();
  const differs = names.filter((name) => found?.wanted[name] !== texts[name]);
  if (found !== null && differs.length === 0) return found;
  if (found?.sent != null)
    throw new FlywheelError(
      'ERR_LOCAL_ALREADY_EXISTS',
      `An unfinished registration differs in ${differs.join(', ')}. Its transactions may have landed.`,
      { hint: 'Finish it first, with its original command.' },
    );
  const make = (): Address => {
    const keypair = generateKeypair();
    const made = createKeypairSigner(keypair).address;
    keys.set(made, keypair);
    return made;
  };
  // Somebody may have paid into a burn wallet that was made before.
  const earlier = found?.wanted['burnWallet'] === 'null' ? found.burnWallet : undefined;
  return {
    wanted: texts,
    burnWallet: wanted.burnWallet === null ? (earlier ?? make()) : address(wanted.burnWallet),
    createKey: wanted.multisig === null ? make() : null,
    sent: null,
  };
}
