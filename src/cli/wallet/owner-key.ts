/**
 * The owner's key in two steps: what may be known of it before anybody has agreed to anything, and then the key itself. The
 * first never reads a secret; the second overwrites every copy of it that this program holds.
 */
import { createKeypairSigner, type KeypairSigner } from '../../chain/transaction/signer.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { Secret } from '../../values/secret.js';
import { inputName } from '../input/read-input.js';
import { decryptKeypair, type EncryptedKeypair, readEncryptedKeypair } from './encrypted-keypair.js';
import { type KeypairSource, typedPath } from './keypair-source.js';
import { parseKeypair } from './parse-keypair.js';
import { type PassphraseContext, readPassphrase } from './passphrase.js';
import { isStream, readPrivateFile, refuseKey } from './read-private-file.js';

/** Longest keypair file in bytes that is looked at. */
const MAX_KEYPAIR_FILE_BYTES = 4_096;
/** How an encrypted keypair begins; one that is not has `[` or a letter there. */
const BRACE = 0x7b;

/** What can be known of a key without its secret. */
export interface KeyDescription {
  /** How messages call it. */
  readonly name: string;
  readonly isEncrypted: boolean;
  /** Stands in clear in an encrypted file; `null` where only the secret itself would say it. */
  readonly address: Address | null;
}

/** A key that has not been loaded. */
export interface OwnerKey {
  /** Standard input or an open descriptor: what was read of it is not there any more. */
  readonly isReadOnce: boolean;
  /**
   * Makes sure that the key is where it should be, as far as that goes without reading it.
   * @throws `ERR_KEYPAIR_INVALID` for what {@link load} could not load either.
   */
  describe(): KeyDescription;
  /**
   * Reads, and where it is encrypted asks for the passphrase.
   * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content; `ERR_DECLINED`
   */
  load(): Promise<KeypairSigner>;
}

/** The 64 bytes of a keypair as a signer; they are overwritten. @throws `ERR_KEYPAIR_INVALID` */
export function signerOf(name: string, keypair: Uint8Array): KeypairSigner {
  try {
    return createKeypairSigner(keypair);
  } catch (error) {
    throw isFlywheelError(error) ? refuseKey(name, error.message.replace(/\.$/, '')) : error;
  } finally {
    keypair.fill(0);
  }
}

/** @throws `ERR_KEYPAIR_INVALID` for what no file of a keypair is called. */
function requireFile(location: string): void {
  if (/^usb:/i.test(location))
    throw refuseKey(
      location,
      'a hardware wallet signs through the wallet in your browser',
      'Leave --keypair out and add --wallet: `flywheel batch approve <batchId> --wallet`.',
    );
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location) || location === 'ASK')
    throw refuseKey(location, 'prompts are not supported', 'Give the path of a keypair file.');
}

/** The keypair of a source in its bytes; to be overwritten by the caller. */
export async function readKeypair(context: PassphraseContext, source: KeypairSource): Promise<Uint8Array> {
  const { name, content } = await readContent(context, source);
  try {
    const first = content.find((byte) => byte > 0x20);
    const keypair = first === BRACE ? await openEncrypted(context, name, content) : parseKeypair(content);
    if (typeof keypair === 'string') throw refuseKey(name, keypair);
    return keypair;
  } finally {
    content.fill(0);
  }
}

async function readContent(
  context: PassphraseContext,
  source: KeypairSource,
): Promise<{ readonly name: string; readonly content: Uint8Array }> {
  if (source instanceof Secret) return { name: 'FLYWHEEL_KEYPAIR', content: Buffer.from(source.reveal()) };
  const location = typedPath(source, 'The keypair option');
  requireFile(location);
  const content =
    location === '-'
      ? await context.io.stdin.read(MAX_KEYPAIR_FILE_BYTES)
      : readPrivateFile(context, keypairFile(location));
  return { name: inputName(location), content };
}

const keypairFile = (location: string) => ({ location, what: 'keypair', maxBytes: MAX_KEYPAIR_FILE_BYTES });

function encryptedIn(name: string, content: Uint8Array): EncryptedKeypair {
  const encrypted = readEncryptedKeypair(Buffer.from(content).toString('utf8'));
  if (typeof encrypted === 'string') throw refuseKey(name, encrypted);
  return encrypted;
}

async function openEncrypted(
  context: PassphraseContext,
  name: string,
  content: Uint8Array,
): Promise<Uint8Array> {
  const encrypted = encryptedIn(name, content);
  const passphrase = await readPassphrase(context, `${name} (${encrypted.address})`);
  try {
    const keypair = await decryptKeypair(encrypted, passphrase);
    if (keypair !== undefined) return keypair;
    throw refuseKey(name, 'the passphrase does not fit, or the file was changed');
  } finally {
    passphrase.fill(0);
  }
}

const isReadOnce = (context: PassphraseContext, source: KeypairSource): boolean =>
  typeof source === 'string' && (source === '-' || isStream(context, source));

/** The key of a source; nothing is read yet. */
export const ownerKey = (context: PassphraseContext, source: KeypairSource): OwnerKey => ({
  isReadOnce: isReadOnce(context, source),
  describe: () => {
    if (source instanceof Secret) return { name: 'FLYWHEEL_KEYPAIR', isEncrypted: false, address: null };
    const location = typedPath(source, 'The keypair option');
    requireFile(location);
    const name = inputName(location);
    if (isReadOnce(context, location)) return { name, isEncrypted: false, address: null };
    const [first] = readPrivateFile(context, keypairFile(location), 1);
    if (first !== BRACE) return { name, isEncrypted: false, address: null };
    const { address } = encryptedIn(name, readPrivateFile(context, keypairFile(location)));
    return { name, isEncrypted: true, address };
  },
  load: async () => {
    const keypair = await readKeypair(context, source);
    return signerOf(source instanceof Secret ? 'FLYWHEEL_KEYPAIR' : inputName(source), keypair);
  },
});
