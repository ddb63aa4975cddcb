/** Tells a keypair itself from the name of a file, before either is printed or stored anywhere. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';

/** The path of a file, `-` for standard input, or the keypair itself, which only the environment may hold. */
export type KeypairSource = string | Secret;

/**
 * What people keep keys as, also where it is not read here: it must not be shown as the name of a file that is not there. A list
 * or an object; at least 32 bytes as numbers; text that is longer than a file is called; the secret half alone, in base58 or
 * base64; the words of a wallet.
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

/** Does the text look like a keypair, and not like the name of a file? */
function isKeyText(text: string): boolean {
  const bare = text.replace(/^[\s"']+|[\s"']+$/g, '');
  return KEY_TEXTS.some((pattern) => pattern.test(bare));
}

/** What an environment variable holds. */
export const fromEnvironment = (text: string): KeypairSource => (isKeyText(text) ? new Secret(text) : text);

/**
 * A path that was typed.
 * @throws `ERR_KEYPAIR_INVALID` for a keypair: it is in the history of the shell now, and is not said again here.
 */
export function typedPath(text: string, flag: string): string {
  if (!isKeyText(text)) return text;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', `${flag} needs a file name, but got a keypair.`, {
    hint: 'Other users can see the command line. Put the keypair into a private file (chmod 600), or into FLYWHEEL_KEYPAIR.',
  });
}
