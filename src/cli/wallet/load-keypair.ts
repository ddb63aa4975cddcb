/** The owner's keypair: where it is, and how it is read, from files that nobody else can read. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import {
  createKeypairSigner,
  KEYPAIR_LENGTH_BYTES,
  type KeypairSigner,
} from '../../chain/transaction/sign.js';
import type { Settings } from '../../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { parseKeypairText } from '../../files/keypair-file.js';
import { fileProblem } from '../../files/read-file.js';
import type { Address } from '../../values/address.js';
import { Secret } from '../../values/secret.js';
import { solanaCliSetting } from '../config/paths.js';
import type { CliContext } from '../context.js';
import { inputName } from '../input/read-input.js';
import { shellLine } from '../shell-line.js';
import { type KeypairSource, typedPath } from './keypair-source.js';

/** What reading one takes. */
type KeypairContext = Pick<CliContext, 'cwd' | 'home' | 'platform' | 'io'>;

/** Longest keypair file in bytes that is looked at. */
const MAX_BYTES = 4_096;
/** Permission bits of group and others. */
const OTHERS = 0o077;
const AS_ENVIRONMENT = 'FLYWHEEL_KEYPAIR';

/** A keypair that cannot be used. */
const refuseKey = (name: string, reason: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_KEYPAIR_INVALID', `${name}: ${reason}.`, hint === undefined ? {} : { hint });

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
    hint: 'Add --keypair FILE, set FLYWHEEL_KEYPAIR, or sign in your browser wallet with --wallet.',
  });
}

/** An absolute path; `~/` is the user's home. */
export function keypairPath(context: Pick<KeypairContext, 'cwd' | 'home'>, location: string): string {
  if (location.startsWith('~/')) return join(context.home, location.slice(2));
  return isAbsolute(location) ? location : resolve(context.cwd, location);
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
      'hardware wallets work through a browser wallet only',
      'Use --wallet instead of --keypair: `flywheel batch approve BATCH_ID --wallet`',
    );
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(location) || location === 'ASK')
    throw refuseKey(location, 'prompts are not supported', 'Name a keypair file.');
  return location;
}

/** Standard input, or a pipe such as an open descriptor: what was read of it is not there any more. */
function isReadOnce(context: KeypairContext, location: string): boolean {
  if (location === '-') return true;
  try {
    const stats = statSync(keypairPath(context, location));
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    // What cannot be looked at is found out when it is opened.
    return false;
  }
}

/**
 * Is there something to load, for this user alone? A secret is not read.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason.
 */
export function requireKeypair(context: KeypairContext, source: KeypairSource): void {
  if (source instanceof Secret) return;
  const location = fileOf(source);
  if (!isReadOnce(context, location)) readPrivateFile(context, location, 0);
}

/**
 * Opens a file, makes sure of its permissions and reads it; the permissions are those of the very file that is read.
 * @param count - bytes that are read from its beginning.
 * @throws `ERR_KEYPAIR_INVALID` naming the file and the reason, never its content.
 */
function readPrivateFile(context: KeypairContext, location: string, count: number): string {
  const path = keypairPath(context, location);
  let handle: number | undefined;
  try {
    handle = openSync(path, 'r');
    if (context.platform !== 'win32' && (fstatSync(handle).mode & OTHERS) !== 0)
      throw refuseKey(
        location,
        'other users can read this keypair file',
        `Run: ${shellLine(['chmod', '600', path])}`,
      );
    const bytes = Buffer.alloc(count);
    let length = 0;
    // A pipe gives what it has in pieces, so that its size says nothing.
    for (let got = 1; got > 0 && length < count; length += got)
      got = readSync(handle, bytes, length, count - length, null);
    if (length > MAX_BYTES) throw refuseKey(location, 'this file is too large for a keypair');
    return bytes.toString('utf8', 0, length);
  } catch (error) {
    throw isFlywheelError(error) ? error : refuseKey(location, fileProblem(error));
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
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
  const read = parseKeypairText(await textOf(context, source));
  const place = source instanceof Secret ? name : inputName(source);
  if ('problem' in read) throw refuseKey(place, read.problem);
  const { length } = read.bytes;
  if (length === KEYPAIR_LENGTH_BYTES) return read.bytes;
  throw refuseKey(place, `a keypair has ${KEYPAIR_LENGTH_BYTES} bytes, but this one has ${length}`);
}

async function textOf(context: KeypairContext, source: KeypairSource): Promise<string> {
  if (source instanceof Secret) return source.reveal();
  const location = fileOf(source);
  if (location !== '-') return readPrivateFile(context, location, MAX_BYTES + 1);
  return Buffer.from(await context.io.stdin.read(MAX_BYTES)).toString('utf8');
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

/** A keypair for one command: whose it is can be asked before anything is signed. Nothing of it is kept in between. */
export class OwnerKeypair {
  readonly #context: KeypairContext;
  readonly #source: KeypairSource;
  /** What can be read only once. */
  #read: Promise<KeypairSigner> | undefined;

  constructor(context: KeypairContext, source: KeypairSource) {
    this.#context = context;
    this.#source = source;
  }

  /** Absolute path of its file; `null`: it comes from elsewhere. */
  get file(): string | null {
    return typeof this.#source === 'string' ? this.#source : null;
  }

  /** Whose it is; `null` for standard input and open descriptors. @throws `ERR_KEYPAIR_INVALID` */
  async address(): Promise<Address | null> {
    return this.#isReadOnce ? null : (await loadKeypair(this.#context, this.#source)).address;
  }

  /** @throws `ERR_KEYPAIR_INVALID` */
  signer(): Promise<KeypairSigner> {
    if (!this.#isReadOnce) return loadKeypair(this.#context, this.#source);
    this.#read ??= loadKeypair(this.#context, this.#source);
    return this.#read;
  }

  get #isReadOnce(): boolean {
    return !(this.#source instanceof Secret) && isReadOnce(this.#context, fileOf(this.#source));
  }
}
