/**
 * Where the code that V8 has compiled of the program is kept between runs: a directory that only this user can write to, because
 * what lies there is run without a look at its source. It is made at the first run of a command and may be deleted at any time.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { makeDirectory } from './files/directories.js';

/** Set by the build: what the program's text hashes to. */
declare const __PROGRAM_HASH__: string;

/** Commands differ in what they run, so each has a file; beyond so many the oldest goes. */
const MAX_FILES = 16;
/** Words that name a command at most. */
const MAX_WORDS = 2;
/** A word that may be a command. */
const WORD = /^[a-z][a-z-]{0,30}$/;
const OWNER_ONLY_FILE = 0o600;
const WRITABLE_BY_OTHERS = 0o022;
const MAX_FILE_BYTES = 16 * 1_024 * 1_024;

export interface CodeCachePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: string;
}

/** Code, and the parts of the program that had run when it was kept; what has not run is not compiled. */
export interface KeptCode {
  /** By the file that it was compiled of. */
  readonly code: ReadonlyMap<string, Buffer>;
  readonly parts: readonly string[];
}

export interface CodeCache {
  /** What was kept, or `undefined`. */
  read(): KeptCode | undefined;
  /** Keeps it for the next run. A cache that cannot be written is no cache; nothing else depends on it. */
  write(kept: KeptCode): void;
}

function baseDirectory({ env, home, platform }: CodeCachePlace): string {
  const given = env['XDG_CACHE_HOME'];
  if (given?.startsWith('/') === true) return given;
  if (platform === 'darwin') return join(home, 'Library', 'Caches');
  if (platform === 'win32') return env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local');
  return join(home, '.cache');
}

/** On systems without user numbers all are -1, and there is no mode to look at. */
const isOurs = ({ uid, mode }: Stats, own: number): boolean =>
  own === -1 || (uid === own && (mode & WRITABLE_BY_OTHERS) === 0);

/**
 * The cache of a program file for commands that begin with these words; `null` where the user wants none, or there is no place
 * for one.
 *
 * @param program - the file; its size and time count beside its hash, so that an edited one is compiled.
 */
export function openCodeCache(
  place: CodeCachePlace,
  program: string,
  words: readonly string[],
): CodeCache | null {
  if (place.env['NODE_DISABLE_COMPILE_CACHE'] !== undefined || place.home === '') return null;
  const directory = join(baseDirectory(place), 'flywheel');
  const command = words.filter((word) => WORD.test(word)).slice(0, MAX_WORDS);
  const { size, mtimeMs } = statSync(program);
  const build = `${__PROGRAM_HASH__}-${process.versions.v8}-${process.arch}-${size.toString(36)}${Math.floor(mtimeMs).toString(36)}`;
  const file = join(directory, `${build}.${command.join('-')}.bin`);
  return {
    read: () => quietly(() => readOurs(directory, file)),
    write: (kept) => void quietly(() => write(directory, build, file, kept)),
  };
}

function quietly<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** A directory of this user that nobody else may write to, and that is where it seems to be. */
function isPrivate(directory: string, own: number): boolean {
  const stats = lstatSync(directory);
  return stats.isDirectory() && isOurs(stats, own);
}

function readOurs(directory: string, file: string): KeptCode | undefined {
  const own = userInfo().uid;
  if (!isPrivate(dirname(directory), own) || !isPrivate(directory, own)) return undefined;
  // Neither a link to somewhere else nor a pipe that never answers.
  const descriptor = openSync(
    file,
    constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0),
  );
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.nlink !== 1 || stats.size > MAX_FILE_BYTES || !isOurs(stats, own))
      return undefined;
    return decode(readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A checksum of all that follows it; then, on the same line, how many bytes there are of each file, and the parts. V8 runs damaged
 * code without a look at it, so what does not add up is no code.
 */
function decode(bytes: Buffer): KeptCode | undefined {
  const from = bytes.indexOf(' ');
  const end = bytes.indexOf('\n');
  if (from <= 0 || end < from || bytes.toString('latin1', 0, from) !== checksum(bytes.subarray(from)))
    return undefined;
  const [lengths = '', ...parts] = bytes.toString('utf8', from + 1, end).split(' ');
  const code = new Map<string, Buffer>();
  let start = end + 1;
  for (const entry of lengths.split(',')) {
    const [name = '', length] = entry.split('=');
    code.set(name, bytes.subarray(start, start + Number(length)));
    start += Number(length);
  }
  return { parts, code };
}

function encode({ parts, code }: KeptCode): Buffer {
  const lengths = [...code].map(([name, { length }]) => `${name}=${length}`).join(',');
  const body = Buffer.concat([Buffer.from(` ${[lengths, ...parts].join(' ')}\n`), ...code.values()]);
  return Buffer.concat([Buffer.from(checksum(body)), body]);
}

const checksum = (bytes: Buffer): string => crc32(bytes).toString(16);

function write(directory: string, build: string, file: string, kept: KeptCode): void {
  makeDirectory(directory);
  const own = userInfo().uid;
  if (!isPrivate(dirname(directory), own) || !isPrivate(directory, own)) return;
  // Two that write at once write the same; each has a file of its own until it is whole.
  const draft = `${file}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(draft, encode(kept), { mode: OWNER_ONLY_FILE, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    quietly(() => unlinkSync(draft));
    throw error;
  }
  tidy(directory, build);
}

/** Takes away what other builds have left, and the oldest where there are too many. */
function tidy(directory: string, build: string): void {
  const files = readdirSync(directory).filter((name) => /\.bin(\.\w+)?$/.test(name));
  const current = files.filter((name) => name.startsWith(`${build}.`));
  const age = (name: string): number => statSync(join(directory, name)).mtimeMs;
  const oldest = current.sort((a, b) => age(b) - age(a)).slice(MAX_FILES);
  for (const name of [...files.filter((one) => !current.includes(one)), ...oldest])
    quietly(() => unlinkSync(join(directory, name)));
}
