/** Which key of the owner is meant: the flag, the environment, the profile, then what the Solana CLI uses. */
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { Secret } from '../../values/secret.js';
import type { Settings } from '../config/settings.js';
import { solanaCliSetting } from '../config/solana-config.js';
import { type KeypairSource, typedPath } from './keypair-source.js';
import { ownerKey } from './owner-key.js';
import type { PassphraseContext } from './passphrase.js';
import { keypairPath } from './read-private-file.js';

/**
 * Where the keypair is: the flag, environment or profile, then the Solana CLI's own.
 * @throws `ERR_KEYPAIR_INVALID` when nobody says.
 */
export function keypairLocation(
  context: Pick<PassphraseContext, 'home'>,
  settings: Settings,
  flag: string | undefined,
): KeypairSource {
  const typed = flag === undefined ? undefined : typedPath(flag, '--keypair');
  const location = typed ?? settings.keypair.value ?? solanaCliSetting(context.home, 'keypair_path');
  if (location !== undefined && location !== '') return location;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', 'No keypair was given.', {
    hint: 'Give --keypair FILE, or set FLYWHEEL_KEYPAIR; `batch approve --wallet` needs none.',
  });
}

/**
 * The signer of a keypair file (JSON byte array, base58 or encrypted), of standard input for `-`, or of the keypair itself.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content.
 */
export const loadKeypair = (context: PassphraseContext, source: KeypairSource): Promise<KeypairSigner> =>
  ownerKey(context, source).load();

/** The source as it is the same from every directory. */
export const absoluteSource = (
  context: Pick<PassphraseContext, 'cwd' | 'home'>,
  source: KeypairSource,
): KeypairSource => (source instanceof Secret || source === '-' ? source : keypairPath(context, source));

/**
 * Is there something to load, for this user alone? Its content is not looked at.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason.
 */
export function requireKeypair(context: PassphraseContext, source: KeypairSource): void {
  ownerKey(context, source).describe();
}

/**
 * Whose keypair it is, without keeping it: of an encrypted one nothing is opened, of others the bytes are overwritten before this
 * returns. `null` for standard input and open descriptors, which can be read only once.
 * @throws `ERR_KEYPAIR_INVALID`
 */
export async function keypairOwner(
  context: PassphraseContext,
  source: KeypairSource,
): Promise<Address | null> {
  const key = ownerKey(context, source);
  const { address } = key.describe();
  if (address !== null || key.isReadOnce) return address;
  return (await key.load()).address;
}
