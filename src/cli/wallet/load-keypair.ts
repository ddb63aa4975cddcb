/** The owner's keypair: where it is, and how it is read. Every copy of its bytes that this program holds is overwritten. */
import { createKeypairSigner, type KeypairSigner } from '../../chain/transaction/signer.js';
import type { Settings } from '../../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { Secret } from '../../values/secret.js';
import { solanaCliSetting } from '../config/solana-config.js';
import type { CliContext } from '../context.js';
import { inputName } from '../input/read-input.js';
import { type KeypairSource, typedPath } from './keypair-source.js';
import { parseKeypair } from './parse-keypair.js';
import {
  isStream,
  keypairPath,
  type PrivateFileContext,
  readPrivateFile,
  refuseKey,
} from './read-private-file.js';

/** What reading one takes. */
type KeypairContext = PrivateFileContext & Pick<CliContext, 'io'>;

/** Longest keypair file in bytes that is looked at. */
const MAX_KEYPAIR_FILE_BYTES = 4_096;
const AS_ENVIRONMENT = 'FLYWHEEL_KEYPAIR';

/**
 * Where the keypair is: the flag, environment or profile, then the Solana CLI's own.
 * @throws `ERR_KEYPAIR_INVALID` when nobody says.
 */
export function keypairLocation(
  context: Pick<KeypairContext, 'home'>,
  settings: Settings,
  flag: string | undefined,
): KeypairSource {
  const typed = flag === undefined ? undefined : typedPath(flag, '--keypair');
  const location = typed ?? settings.keypair.value ?? solanaCliSetting(context.home, 'keypair_path');
  if (location !== undefined && location !== '') return location;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', 'No keypair is set.', {
    hint: 'Add --keypair FILE, set FLYWHEEL_KEYPAIR, or use `batch approve --wallet`.',
  });
}

/** The source as it is the same from every directory. */
export const absoluteSource = (
  context: Pick<KeypairContext, 'cwd' | 'home'>,
  source: KeypairSource,
): KeypairSource => (source instanceof Secret || source === '-' ? source : keypairPath(context, source));

/** The path of a source. @throws `ERR_KEYPAIR_INVALID` for what no file of a keypair is called. */
function fileOf(source: string): string {
  const location = typedPath(source, 'The keypair option');
  if (/^usb:/i.test(location))
    throw refuseKey(
      location,
      'use a hardware wallet through the wallet in your browser',
      'Use --wallet instead of --keypair: `flywheel batch approve <batchId> --wallet`',
    );
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location) || location === 'ASK')
    throw refuseKey(location, 'prompts are not supported', 'Name a keypair file.');
  return location;
}

const keypairFile = (location: string) => ({ location, what: 'keypair', maxBytes: MAX_KEYPAIR_FILE_BYTES });

/** Standard input or an open descriptor: what was read of it is not there any more. */
const isReadOnce = (context: KeypairContext, location: string): boolean =>
  location === '-' || isStream(context, location);

/**
 * Is there something to load, for this user alone? A secret is not read.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason.
 */
export function requireKeypair(context: KeypairContext, source: KeypairSource): void {
  if (source instanceof Secret) return;
  const location = fileOf(source);
  if (!isReadOnce(context, location)) readPrivateFile(context, keypairFile(location), 0);
}

async function contentOf(context: KeypairContext, source: KeypairSource): Promise<Uint8Array> {
  if (source instanceof Secret) return Buffer.from(source.reveal());
  const location = fileOf(source);
  return location === '-'
    ? context.io.stdin.read(MAX_KEYPAIR_FILE_BYTES)
    : readPrivateFile(context, keypairFile(location));
}

/**
 * The 64 bytes of a keypair file (JSON byte array or base58), of standard input for `-`, or of the keypair itself; to be
 * overwritten by the caller.
 * @param name - of a keypair that stands in the environment.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content.
 */
export async function readKeypair(
  context: KeypairContext,
  source: KeypairSource,
  name = AS_ENVIRONMENT,
): Promise<Uint8Array> {
  const content = await contentOf(context, source);
  try {
    const keypair = parseKeypair(content);
    if (typeof keypair !== 'string') return keypair;
    throw refuseKey(source instanceof Secret ? name : inputName(source), keypair);
  } finally {
    content.fill(0);
  }
}

/** The signer of a keypair as {@link readKeypair} reads it. @throws `ERR_KEYPAIR_INVALID` */
export async function loadKeypair(
  context: KeypairContext,
  source: KeypairSource,
  name = AS_ENVIRONMENT,
): Promise<KeypairSigner> {
  const keypair = await readKeypair(context, source, name);
  try {
    return createKeypairSigner(keypair);
  } catch (error) {
    if (!isFlywheelError(error)) throw error;
    throw refuseKey(source instanceof Secret ? name : inputName(source), error.message.replace(/\.$/, ''));
  } finally {
    keypair.fill(0);
  }
}

/** Whose keypair it is; `null` for standard input and open descriptors, which can be read only once. @throws `ERR_KEYPAIR_INVALID` */
export async function keypairOwner(context: KeypairContext, source: KeypairSource): Promise<Address | null> {
  if (!(source instanceof Secret) && isReadOnce(context, fileOf(source))) return null;
  return (await loadKeypair(context, source)).address;
}
