/** Tells a keypair itself from the name of a file, before either is printed or stored anywhere. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';

/** The path of a file, `-` for standard input, or the keypair itself, which only the environment may hold. */
export type KeypairSource = string | Secret;

/** Fewer characters than any keypair has, and more than a file is called. */
const KEY_TEXT = /^\s*\[|^\s*[A-Za-z0-9+/=]{64,}\s*$/;

/** Does the text look like a keypair, and not like the name of a file? */
export const isKeyText = (text: string): boolean => KEY_TEXT.test(text);

/** What an environment variable holds. */
export const fromEnvironment = (text: string): KeypairSource => (isKeyText(text) ? new Secret(text) : text);

/**
 * A path that was typed.
 * @throws `ERR_KEYPAIR_INVALID` for a keypair: it is in the history of the shell now, and is not said again here.
 */
export function typedPath(text: string, flag: string): string {
  if (!isKeyText(text)) return text;
  throw new FlywheelError(
    'ERR_KEYPAIR_INVALID',
    `${flag} takes the name of a file, and was given a keypair itself.`,
    {
      hint: 'Keys do not belong on the command line, where others can see them. Put it in a file of your own (chmod 600), or into FLYWHEEL_KEYPAIR.',
    },
  );
}
