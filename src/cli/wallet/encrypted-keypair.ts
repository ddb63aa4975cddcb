/**
 * A keypair under a passphrase, as a file: scrypt makes the key, AES-256-GCM encrypts and seals. What the file says of itself is
 * sealed along with the keypair, so that neither the address nor a parameter can be exchanged. The address stands in it in
 * clear; who holds the file knows whose it is, and nothing more.
 */
import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { createKeypairSigner, KEYPAIR_LENGTH_BYTES } from '../../chain/transaction/signer.js';
import { type Address, isAddress } from '../../values/address.js';
import { isJsonObject } from '../../values/canonical-json.js';

/** What the format is called, and its one version. */
const FORMAT = 'flywheel-encrypted-keypair';
const VERSION = 1;

/** What new files use: 128 MiB and about half a second for each try of a passphrase (RFC 7914 calls them N, r and p). */
const NEW_COST = { n: 2 ** 17, r: 8, p: 1 };
/** Fewer tries are too cheap to protect anything. */
const MIN_N = 2 ** 14;
/** A file that came from elsewhere must not ask for more memory, or more rounds over it, than this. */
const MAX_MEMORY_BYTES = 512 * 1_024 * 1_024;
const MAX_R = 32;
const MAX_P = 4;
/** What scrypt wants beside its large table. */
const SPARE_MEMORY_BYTES = 1_024 * 1_024;

const SALT_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';

/** Everything that a file states; nothing of it is secret. */
export interface EncryptedKeypair {
  readonly address: Address;
  readonly cost: { readonly n: number; readonly r: number; readonly p: number };
  readonly salt: Buffer;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly ciphertext: Buffer;
}

type Header = Pick<EncryptedKeypair, 'address' | 'cost' | 'salt' | 'nonce'>;

/** The header in one spelling, whatever the file looks like; it is sealed with the keypair. */
const sealedHeader = ({ address, cost, salt, nonce }: Header): Buffer =>
  Buffer.from(
    JSON.stringify([
      ...[FORMAT, VERSION, address, 'scrypt', cost.n, cost.r, cost.p, salt.toString('base64')],
      ...[CIPHER, nonce.toString('base64')],
    ]),
  );

const memoryOf = ({ n, r }: EncryptedKeypair['cost']): number => 128 * n * r;

const scryptAsync = promisify(
  (
    passphrase: Uint8Array,
    salt: Uint8Array,
    options: ScryptOptions,
    done: (error: Error | null, key: Buffer) => void,
  ) => scrypt(passphrase, salt, KEY_BYTES, options, done),
);

const deriveKey = (passphrase: Uint8Array, { cost, salt }: Header): Promise<Buffer> =>
  scryptAsync(passphrase, salt, {
    N: cost.n,
    r: cost.r,
    p: cost.p,
    maxmem: memoryOf(cost) + 128 * cost.r * cost.p + SPARE_MEMORY_BYTES,
  });

/**
 * Encrypts the 64 bytes of a keypair, which stay as they are.
 * @returns the text of the file.
 */
export async function encryptKeypair(
  keypair: Uint8Array,
  address: Address,
  passphrase: Uint8Array,
): Promise<string> {
  const header: Header = {
    address,
    cost: NEW_COST,
    salt: randomBytes(SALT_BYTES),
    nonce: randomBytes(NONCE_BYTES),
  };
  const key = await deriveKey(passphrase, header);
  try {
    const cipher = createCipheriv(CIPHER, key, header.nonce).setAAD(sealedHeader(header));
    const ciphertext = Buffer.concat([cipher.update(keypair), cipher.final()]);
    return fileText({ ...header, ciphertext, tag: cipher.getAuthTag() });
  } finally {
    key.fill(0);
  }
}

const fileText = ({ address, cost, salt, nonce, tag, ciphertext }: EncryptedKeypair): string =>
  `${JSON.stringify(
    {
      format: FORMAT,
      version: VERSION,
      address,
      kdf: { name: 'scrypt', ...cost, salt: salt.toString('base64') },
      cipher: {
        name: CIPHER,
        nonce: nonce.toString('base64'),
        tag: tag.toString('base64'),
        ciphertext: ciphertext.toString('base64'),
      },
    },
    null,
    2,
  )}\n`;

/**
 * Takes the text of a file apart, without its secret.
 * @returns the parts, or why it is none that may be opened.
 */
export function readEncryptedKeypair(text: string): EncryptedKeypair | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not whole JSON';
  }
  if (!isJsonObject(value) || value['format'] !== FORMAT)
    return 'it is no keypair that this program encrypted';
  const { version, address, kdf, cipher } = value as Readonly<Record<string, unknown>>;
  if (version !== VERSION) return 'it is of a version that this program does not know';
  if (typeof address !== 'string' || !isAddress(address)) return 'it does not name its address';
  if (!isJsonObject(kdf) || kdf['name'] !== 'scrypt') return 'its key derivation is not scrypt';
  if (!isJsonObject(cipher) || cipher['name'] !== CIPHER) return `its cipher is not ${CIPHER}`;
  const cost = readCost(kdf);
  if (typeof cost === 'string') return cost;
  const parts = {
    salt: bytesOf(kdf['salt'], SALT_BYTES),
    nonce: bytesOf(cipher['nonce'], NONCE_BYTES),
    tag: bytesOf(cipher['tag'], TAG_BYTES),
    ciphertext: bytesOf(cipher['ciphertext'], KEYPAIR_LENGTH_BYTES),
  };
  const { salt, nonce, tag, ciphertext } = parts;
  if (salt === undefined || nonce === undefined || tag === undefined || ciphertext === undefined)
    return `its ${Object.entries(parts).find(([, bytes]) => bytes === undefined)?.[0]} is not of the right length`;
  return { address, cost, salt, nonce, tag, ciphertext };
}

function readCost({ n, r, p }: Readonly<Record<string, unknown>>): EncryptedKeypair['cost'] | string {
  const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
  if (!isWhole(n) || !isWhole(r) || !isWhole(p) || !Number.isInteger(Math.log2(n)))
    return 'its scrypt parameters are not valid';
  if (n < MIN_N) return `its scrypt parameter n is ${n}, at least ${MIN_N} is safe`;
  if (r > MAX_R || p > MAX_P || memoryOf({ n, r, p }) > MAX_MEMORY_BYTES)
    return `its scrypt parameters ask for more work than any keypair file needs (n ${n}, r ${r}, p ${p})`;
  return { n, r, p };
}

function bytesOf(value: unknown, length: number): Buffer | undefined {
  if (typeof value !== 'string') return undefined;
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === length && bytes.toString('base64') === value ? bytes : undefined;
}

/**
 * The 64 bytes of the keypair; to be overwritten by the caller.
 * @returns `undefined` when the passphrase does not fit or the file was changed, which cannot be told apart.
 */
export async function decryptKeypair(
  encrypted: EncryptedKeypair,
  passphrase: Uint8Array,
): Promise<Buffer | undefined> {
  const key = await deriveKey(passphrase, encrypted);
  const { nonce, tag, ciphertext, address } = encrypted;
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const keypair = decipher.setAAD(sealedHeader(encrypted)).setAuthTag(tag).update(ciphertext);
  try {
    decipher.final();
    if (createKeypairSigner(keypair).address === address) return keypair;
  } catch {
    // What was deciphered is not what was sealed.
  } finally {
    key.fill(0);
  }
  keypair.fill(0);
  return undefined;
}
