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
import { readBytes } from './read-again.js';

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
/** The first line of a file at most: some hundred parts. */
const MAX_HEAD_BYTES = 64 * 1_024;

export interface CodeCachePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: string;
}

/** Code by the file that it was compiled of, and the parts of the program that had run by then; what has not run is not compiled. */
export interface CompiledCode {
  readonly code: ReadonlyMap<string, Buffer>;
  readonly parts: readonly string[];
}

export interface KeptCode {
  readonly parts: readonly string[];
  /** The files that there is code of. */
  readonly packs: readonly string[];
  /** Code of a file, good until the next is asked for; `undefined` where there is none or it is damaged. */
  code(pack: string): Buffer | undefined;
}

export interface CodeCache {
  /** What was kept, or `undefined`. The file stays open: another may take its place at any time. */
  read(): KeptCode | undefined;
  /** Keeps it for the next run. A cache that cannot be written is no cache; nothing else depends on it. */
  write(code: CompiledCode): void;
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

/** Those of a command line that may name its command. */
export const commandWords = (words: readonly string[]): readonly string[] =>
  words.filter((word) => WORD.test(word)).slice(0, MAX_WORDS);

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
  const command = commandWords(words);
  const { size, mtimeMs } = statSync(program);
  const build = `${__PROGRAM_HASH__}-${process.versions.v8}-${process.arch}-${size.toString(36)}${Math.floor(mtimeMs).toString(36)}`;
  const file = join(directory, `${build}.${command.join('-')}.bin`);
  return {
    read: () => quietly(() => readOurs(directory, file)),
    write: (code) => void quietly(() => write(directory, build, file, code)),
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
  const stats = fstatSync(descriptor);
  const isFit = stats.isFile() && stats.nlink === 1 && stats.size <= MAX_FILE_BYTES && isOurs(stats, own);
  const kept = isFit ? quietly(() => decode(descriptor)) : undefined;
  if (kept === undefined) closeSync(descriptor);
  return kept;
}

/**
 * A checksum of all that follows it on the first line: how many bytes there are of each file, with their checksum, and the parts.
 * V8 runs damaged code without a look at it, so what does not add up is no code.
 */
function decode(descriptor: number): KeptCode | undefined {
  const bytes = readBytes(descriptor, 0, MAX_HEAD_BYTES);
  const from = bytes.indexOf(' ');
  const end = bytes.indexOf('\n');
  if (from <= 0 || end < from || bytes.toString('latin1', 0, from) !== checksum(bytes.subarray(from, end)))
    return undefined;
  const [entries = '', ...parts] = bytes.toString('latin1', from + 1, end).split(' ');
  const places = new Map<string, readonly [start: number, length: number, sum: string]>();
  let start = end + 1;
  for (const entry of entries.split(',')) {
    const [name = '', length, sum = ''] = entry.split(/[=:]/);
    places.set(name, [start, Number(length), sum]);
    start += Number(length);
  }
  const code = (pack: string): Buffer | undefined => {
    const [at, length = 0, sum] = places.get(pack) ?? [];
    const found = at === undefined ? undefined : quietly(() => readBytes(descriptor, at, length));
    return found !== undefined && checksum(found) === sum ? found : undefined;
  };
  return { parts, packs: [...places.keys()], code };
}

function encode({ parts, code }: CompiledCode): Buffer {
  const entries = [...code].map(([name, bytes]) => `${name}=${bytes.length}:${checksum(bytes)}`).join(',');
  const head = Buffer.from(` ${[entries, ...parts].join(' ')}`, 'latin1');
  return Buffer.concat([Buffer.from(checksum(head)), head, Buffer.from('\n'), ...code.values()]);
}

const checksum = (bytes: Buffer): string => crc32(bytes).toString(16);

function write(directory: string, build: string, file: string, code: CompiledCode): void {
  makeDirectory(directory);
  const own = userInfo().uid;
  if (!isPrivate(dirname(directory), own) || !isPrivate(directory, own)) return;
  // Two that write at once write the same; each has a file of its own until it is whole.
  const draft = `${file}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(draft, encode(code), { mode: OWNER_ONLY_FILE, flag: 'wx' });
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
