/** Loads the owner's keypair as a signer. Its bytes never leave this file as text, not even in an error. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { createKeypairSigner, KEYPAIR_LENGTH_BYTES, type Signer } from '../../chain/transaction/signer.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/file-problem.js';
import { parseKeypairText } from '../../files/keypair-file.js';
import type { Address } from '../../values/address.js';
import { Secret } from '../../values/secret.js';
import type { Settings } from '../config/settings.js';
import { solanaCliSetting } from '../config/solana-config.js';
import type { CliContext } from '../context.js';
import { inputName } from '../input/read-input.js';
import { shellLine } from '../shell-line.js';
import { type KeypairSource, typedPath } from './keypair-source.js';

type WalletContext = Pick<CliContext, 'io' | 'cwd' | 'home' | 'platform'>;

/** Longest keypair text in bytes that is looked at. */
const MAX_KEYPAIR_FILE_BYTES = 4_096;
/** Permission bits of group and others. */
const OTHERS = 0o077;

const refuse = (name: string, reason: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_KEYPAIR_INVALID', `${name}: ${reason}.`, hint === undefined ? {} : { hint });

/**
 * Where the keypair is: the flag, environment or profile, then the Solana CLI's own.
 * @throws `ERR_KEYPAIR_INVALID` when nobody says.
 */
export function keypairLocation(
  context: WalletContext,
  settings: Settings,
  flag: string | undefined,
): KeypairSource {
  const typed = flag === undefined ? undefined : typedPath(flag, '--keypair');
  const location = typed ?? settings.keypair.value ?? solanaCliSetting(context.home, 'keypair_path');
  if (location !== undefined && location !== '') return location;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', 'No keypair was given.', {
    hint: 'Give --keypair FILE, or set FLYWHEEL_KEYPAIR.',
  });
}

/**
 * The signer of a keypair file (JSON byte array or base58), of standard input for `-`, or of the keypair itself.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content.
 */
export async function loadKeypair(context: WalletContext, source: KeypairSource): Promise<Signer> {
  if (source instanceof Secret) return signerOf('FLYWHEEL_KEYPAIR', Buffer.from(source.reveal()));
  const location = keypairFile(source);
  const name = inputName(location);
  const bytes =
    location === '-'
      ? await context.io.stdin.read(MAX_KEYPAIR_FILE_BYTES)
      : readPrivateFile(context, location);
  return signerOf(name, bytes);
}

/**
 * Is there something to load, for this user alone? Its content is not looked at.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason.
 */
export function requireKeypair(context: WalletContext, source: KeypairSource): void {
  if (source instanceof Secret || source === '-') return;
  closeSync(openPrivateFile(context, keypairFile(source)));
}

/**
 * Whose keypair it is, without keeping it: its bytes are overwritten before this returns. `null` for standard input, which can
 * be read only once.
 * @throws `ERR_KEYPAIR_INVALID`
 */
export const keypairOwner = async (context: WalletContext, source: KeypairSource): Promise<Address | null> =>
  source === '-' ? null : (await loadKeypair(context, source)).address;

/** The name of a file. @throws `ERR_KEYPAIR_INVALID` for what is known not to be one. */
function keypairFile(source: string): string {
  const location = typedPath(source, 'The keypair option');
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location) || location === 'ASK') {
    throw refuse(
      location,
      'hardware wallets and prompts are not supported',
      'Give the path of a keypair file.',
    );
  }
  return location;
}

/** The bytes are overwritten. */
function signerOf(name: string, bytes: Uint8Array): Signer {
  try {
    const keypair = parseKeypair(name, Buffer.from(bytes).toString('utf8'));
    try {
      return createKeypairSigner(keypair);
    } catch (error) {
      throw isFlywheelError(error) ? refuse(name, error.message.replace(/\.$/, '')) : error;
    } finally {
      keypair.fill(0);
    }
  } finally {
    bytes.fill(0);
  }
}

/** The source as it is the same from every directory. */
export const absoluteSource = (
  context: Pick<WalletContext, 'cwd' | 'home'>,
  source: KeypairSource,
): KeypairSource => (source instanceof Secret || source === '-' ? source : keypairPath(context, source));

/** An absolute path; `~/` is the user's home. */
export function keypairPath(context: Pick<WalletContext, 'cwd' | 'home'>, location: string): string {
  if (location.startsWith('~/')) return join(context.home, location.slice(2));
  return isAbsolute(location) ? location : resolve(context.cwd, location);
}

/** The permissions are those of the very file that is opened. @returns its handle. */
function openPrivateFile(context: WalletContext, location: string): number {
  let handle: number;
  try {
    handle = openSync(keypairPath(context, location), 'r');
  } catch (error) {
    throw refuse(location, fileProblem(error));
  }
  try {
    const { mode, size } = fstatSync(handle);
    if (context.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw refuse(
        location,
        'others can read this keypair file',
        `Run: ${shellLine(['chmod', '600', keypairPath(context, location)])}`,
      );
    if (size > MAX_KEYPAIR_FILE_BYTES) throw refuse(location, 'it is too large to be a keypair file');
    return handle;
  } catch (error) {
    closeSync(handle);
    throw isFlywheelError(error) ? error : refuse(location, fileProblem(error));
  }
}

function readPrivateFile(context: WalletContext, location: string): Uint8Array {
  const handle = openPrivateFile(context, location);
  try {
    return readFileSync(handle);
  } catch (error) {
    throw refuse(location, fileProblem(error));
  } finally {
    closeSync(handle);
  }
}

function parseKeypair(name: string, text: string): Uint8Array {
  const parsed = parseKeypairText(text);
  if ('problem' in parsed) throw refuse(name, parsed.problem);
  if (parsed.bytes.length === KEYPAIR_LENGTH_BYTES) return parsed.bytes;
  throw refuse(name, `a keypair has ${KEYPAIR_LENGTH_BYTES} bytes, this has ${parsed.bytes.length}`);
}
