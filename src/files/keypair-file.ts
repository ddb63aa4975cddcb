/** Keypairs as the Solana CLI stores them (a JSON array of bytes; base58 is read too), and telling one from the name of a file. */
import { FlywheelError } from '../errors/flywheel-error.js';
import { base58Decode } from '../values/bytes.js';
import { Secret } from '../values/secret.js';

export const keypairText = (keypair: Uint8Array): string => `${JSON.stringify([...keypair])}\n`;

/** `bytes` may have any length. `problem` quotes nothing of the text. */
type ParsedKeypair = { readonly bytes: Uint8Array } | { readonly problem: string };

export function parseKeypairText(text: string): ParsedKeypair {
  const trimmed = text.trim();
  if (trimmed === '') return { problem: 'it is empty' };
  if (!trimmed.startsWith('[')) {
    const bytes = base58Decode(trimmed);
    return bytes === undefined ? { problem: 'it is neither a JSON array of bytes nor base58' } : { bytes };
  }
  let list: unknown;
  try {
    list = JSON.parse(trimmed);
  } catch {
    return { problem: 'its JSON array is not complete' };
  }
  const isByte = (byte: unknown): boolean =>
    Number.isInteger(byte) && Number(byte) >= 0 && Number(byte) <= 255;
  if (!Array.isArray(list) || !list.every(isByte)) return { problem: 'it is not a JSON array of bytes' };
  return { bytes: Uint8Array.from(list) };
}

/** A path, `-` for standard input, or the keypair itself, which only the environment may contain. */
export type KeypairSource = string | Secret;

/**
 * Formats in which people store keys, supported here or not; none may be printed as the name of a missing file: a list or an
 * object; at least 32 bytes as numbers; text longer than a file name; the secret half alone, in base58 or base64; the words of
 * a wallet.
 */
const KEY_TEXTS = [
  /^[[{]/,
  /^(?:\d{1,3}[\s,]+){31}/,
  /^[A-Za-z0-9+/=]{64,}$/,
  /^[\w=-]{64,}$/,
  /^[1-9A-HJ-NP-Za-km-z]{43,44}$/,
  /^[A-Za-z0-9+/]{43}=$/,
  /^(?:[a-z]{3,8}\s+){11,}[a-z]{3,8}$/,
];

function isKeyText(text: string): boolean {
  const bare = text.replace(/^[\s"']+|[\s"']+$/g, '');
  return KEY_TEXTS.some((pattern) => pattern.test(bare));
}

export const fromEnvironment = (text: string): KeypairSource => (isKeyText(text) ? new Secret(text) : text);

/** Checks a typed path. @throws `ERR_KEYPAIR_INVALID` for a keypair, without its text: the shell history has it already. */
export function typedPath(text: string, flag: string): string {
  if (!isKeyText(text)) return text;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', `${flag} needs a file name, but got a keypair.`, {
    hint: 'Other users can see the command line. Put the keypair into a private file (chmod 600), or into FLYWHEEL_KEYPAIR.',
  });
}
