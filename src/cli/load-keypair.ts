/** Finds and reads the owner's keypair, only from files that no other user can read. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { createKeypairSigner, KEYPAIR_LENGTH_BYTES, type KeypairSigner } from '../chain/transaction/sign.js';
import type { Settings } from '../compose/settings.js';
import { FlywheelError, isFlywheelError } from '../errors/flywheel-error.js';
import { type KeypairSource, parseKeypairText, typedPath } from '../files/keypair-file.js';
import { fileProblem } from '../files/read-file.js';
import type { Address } from '../values/address.js';
import { Secret } from '../values/secret.js';
import type { CliContext } from './context.js';
import { inputName, readInputBytes } from './input/read-input.js';
import { shellLine } from './shell-line.js';

type KeypairContext = Pick<CliContext, 'cwd' | 'home' | 'platform' | 'io' | 'signal'>;

/** Maximum size of a keypair file. */
const MAX_BYTES = 4_096;
/** Permission bits of group and others. */
const OTHERS = 0o077;
const AS_ENVIRONMENT = 'FLYWHEEL_KEYPAIR';

const refuseKey = (name: string, reason: string, hint?: string): FlywheelError =>
  new FlywheelError('ERR_KEYPAIR_INVALID', `${name}: ${reason}.`, { hint });

/** From flag, environment or profile. @throws `ERR_KEYPAIR_INVALID` when no source names one. */
export function keypairLocation(settings: Settings, flag: string | undefined): KeypairSource {
  const typed = flag === undefined ? undefined : typedPath(flag, '--keypair');
  const location = typed ?? settings.keypair.value ?? '';
  if (location !== '') return location;
  throw new FlywheelError('ERR_KEYPAIR_INVALID', 'No keypair is set.', {
    hint: 'Add --keypair FILE, set FLYWHEEL_KEYPAIR, or sign in your browser wallet with --wallet.',
  });
}

/** Expands `~/`. @returns an absolute path */
export function keypairPath(context: Pick<KeypairContext, 'cwd' | 'home'>, location: string): string {
  if (location.startsWith('~/')) return join(context.home, location.slice(2));
  return isAbsolute(location) ? location : resolve(context.cwd, location);
}

/** The same source for every working directory. */
export const absoluteSource = (
  context: Pick<KeypairContext, 'cwd' | 'home'>,
  source: KeypairSource,
): KeypairSource => (source instanceof Secret || source === '-' ? source : keypairPath(context, source));

/** @throws `ERR_KEYPAIR_INVALID` for text that cannot be the path of a keypair. */
function fileOf(source: string): string {
  const location = typedPath(source, 'The keypair option');
  if (/^usb:/i.test(location))
    throw refuseKey(
      location,
      'hardware wallets work through a browser wallet only',
      'Use --wallet instead of --keypair: `flywheel batch approve BATCH_ID --wallet`',
    );
  return location;
}

/** Standard input and pipes, such as an open descriptor, can be read only once. */
function isReadOnce(context: KeypairContext, location: string): boolean {
  if (location === '-') return true;
  try {
    const stats = statSync(keypairPath(context, location));
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    // The error appears when the file is opened.
    return false;
  }
}

/** The file exists and only this user can read it; it is not read. @throws `ERR_KEYPAIR_INVALID` with file and reason. */
export function requireKeypair(context: KeypairContext, source: KeypairSource): void {
  if (source instanceof Secret) return;
  const location = fileOf(source);
  if (!isReadOnce(context, location)) readPrivateFile(context, location, 0);
}

/**
 * Checks the permissions of the opened file, so it cannot be swapped. @param count - maximum number of bytes
 * @throws `ERR_KEYPAIR_INVALID` with the file and the reason, never with its content.
 */
function readPrivateFile(context: KeypairContext, location: string, count: number): string {
  const path = keypairPath(context, location);
  let handle: number | undefined;
  try {
    handle = openSync(path, 'r');
    const stats = fstatSync(handle);
    if (stats.isDirectory()) throw refuseKey(location, 'it is a directory');
    if (context.platform !== 'win32' && (stats.mode & OTHERS) !== 0)
      throw refuseKey(
        location,
        'other users can read this keypair file',
        `Run: ${shellLine(['chmod', '600', path])}`,
      );
    const bytes = Buffer.alloc(count);
    let length = 0;
    // A pipe delivers pieces and has no size.
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
 * The 64 bytes of a keypair: from a file (JSON byte array or base58), standard input for `-`, or the source itself. The caller
 * must overwrite them.
 * @param name - for messages about a keypair from the environment
 * @throws `ERR_KEYPAIR_INVALID` with the file and the reason, never with its content.
 */
export async function readKeypair(
  context: KeypairContext,
  source: KeypairSource,
  name = AS_ENVIRONMENT,
): Promise<Uint8Array> {
  const isSecret = source instanceof Secret;
  const read = parseKeypairText(isSecret ? source.reveal() : await textOf(context, fileOf(source)));
  const place = isSecret ? name : inputName(source);
  if ('problem' in read) throw refuseKey(place, read.problem);
  const { length } = read.bytes;
  if (length === KEYPAIR_LENGTH_BYTES) return read.bytes;
  throw refuseKey(place, `a keypair has ${KEYPAIR_LENGTH_BYTES} bytes, but this one has ${length}`);
}

async function textOf(context: KeypairContext, location: string): Promise<string> {
  if (location !== '-') return readPrivateFile(context, location, MAX_BYTES + 1);
  return (await readInputBytes(context, location, MAX_BYTES)).toString('utf8');
}

/** @throws `ERR_KEYPAIR_INVALID` */
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

/** A keypair for one command: its address can be read before anything is signed. The secret is not kept in between. */
export class OwnerKeypair {
  readonly #context: KeypairContext;
  readonly #source: KeypairSource;
  /** Only for sources that can be read once. */
  #read: Promise<KeypairSigner> | undefined;

  constructor(context: KeypairContext, source: KeypairSource) {
    this.#context = context;
    this.#source = source;
  }

  /** Absolute path; `null`: not from a file. */
  get file(): string | null {
    return typeof this.#source === 'string' ? this.#source : null;
  }

  /** `null` for sources that can be read only once. @throws `ERR_KEYPAIR_INVALID` */
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
