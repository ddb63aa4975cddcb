/** Decides which files commands may write: never an input, a key, a database or one of flywheel's own files. */
import { closeSync, lstatSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { type FlywheelError, invalidInput } from '../../errors/flywheel-error.js';
import { parseKeypairText } from '../../files/keypair-file.js';
import { checkWritable, writeFileAtomic } from '../../files/write-file.js';
import type { Session } from '../command.js';
import { defaultDataDir } from '../config/settings-table.js';
import { inputError } from '../input/read-input.js';

export const FORCE_OPTION = new Option(
  '--force',
  'replace an existing file (never an input, key or database)',
);

export interface OutputFile {
  readonly path: string;
  readonly force: boolean;
}

const PRIVATE_MODE = 0o600;
/** The input `-`: it may be a file, through a redirection. */
const STANDARD_INPUT = '/dev/stdin';

/**
 * @returns `null` without the option
 * @throws `ERR_INPUT_INVALID` for a path that cannot be written, and for a file that no command may replace
 */
export function outputFile(
  session: Session,
  option: string,
  typed: string | undefined,
  { force = false }: { readonly force?: boolean },
): OutputFile | null {
  if (typed === undefined) return null;
  const path = resolve(session.context.cwd, typed);
  checkWritable(path, 'ERR_INPUT_INVALID');
  const reason = protection(session, option, path);
  if (reason !== undefined) throw inputError(typed, reason);
  return { path, force };
}

/** For failed entries, written as JSON. @throws `ERR_INPUT_INVALID`, also for .csv and .tsv: they would be read as tables */
export function failedOutFile(
  session: Session,
  { failedOut, ...given }: { readonly failedOut?: string; readonly force?: boolean },
): OutputFile | null {
  if (failedOut !== undefined && /^\.[ct]sv$/i.test(extname(failedOut)))
    throw inputError(failedOut, 'failed entries are written as JSON: name a file that ends in .json');
  return outputFile(session, '--failed-out', failedOut, given);
}

/** A symbolic link counts, even a broken one. */
const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** For use before the first request. @throws `ERR_INPUT_INVALID` for an existing file without `force` */
export function requireFree({ path, force }: OutputFile): void {
  if (!force && exists(path)) throw taken(path);
}

const taken = (path: string): FlywheelError =>
  invalidInput(`${path} already exists.`, 'Use another file, or add --force.');

/**
 * Without `force`, an existing file stays if its text is the same, or if `isAsGood` accepts its text.
 * @throws `ERR_INPUT_INVALID` for any other existing file without `force`, and for errors of the file system
 */
export function writeOutput(
  { path, force }: OutputFile,
  text: string,
  { isPublic = false, isAsGood = () => false }: WriteTerms = {},
): void {
  if (!force && exists(path)) {
    const found = orNone(() => readFileSync(path, 'utf8'));
    if (found !== undefined && (found === text || isAsGood(found))) return;
    throw taken(path);
  }
  const mode = isPublic ? {} : { mode: PRIVATE_MODE };
  writeFileAtomic(path, text, 'ERR_INPUT_INVALID', { ...mode, exclusive: !force });
}

/** `undefined` for what cannot be read. */
function orNone<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

interface WriteTerms {
  /** Readable by other users. */
  readonly isPublic?: boolean;
  readonly isAsGood?: (text: string) => boolean;
}

/** Warns of a file from an earlier run, if this run wrote none. */
export function noteEarlier({ output }: Session, { path }: OutputFile): void {
  if (exists(path))
    output.warn(`${path} is from an earlier run. Nothing failed in this run, so the file was not written.`);
}

/** @returns why no command may replace the file */
function protection(session: Session, option: string, path: string): string | undefined {
  const own = orNone(() => statSync(path));
  if (own === undefined) return undefined;
  const isIt = (other: string): boolean => {
    const found = orNone(() => statSync(other));
    return found !== undefined && found.ino === own.ino && found.dev === own.dev;
  };
  const inputs = inputsOf(session, option).map((input) =>
    input === '-' ? STANDARD_INPUT : resolve(session.context.cwd, input),
  );
  if (inputs.some(isIt)) return 'the command reads this file: use another output file';
  const kind = kindOf(path);
  if (kind !== undefined) return `this is ${kind}, which is never replaced: use another output file`;
  const { settings, context } = session;
  const directory = [settings.dataDir.value, settings.configDir.value, defaultDataDir(context)].find((one) =>
    filesBelow(one).some(isIt),
  );
  if (directory === undefined) return undefined;
  return `this is one of flywheel's own files in ${directory}: use another output file`;
}

/** Every path that the command may read: all typed words except the option's own, FLYWHEEL_ variables, and settings. */
function inputsOf({ commandLine, settings, context }: Session, option: string): readonly string[] {
  const own = commandLine.findIndex((word) => word === option || word.startsWith(`${option}=`));
  const words = commandLine.flatMap((word, at) => {
    const isOwn = at === own || (at === own + 1 && commandLine[own] === option);
    return isOwn ? [] : [word, word.replace(/^@/, ''), word.replace(/^--[^=]*=@?/, '')];
  });
  const named = Object.entries(context.env).flatMap(([name, value = '']) =>
    name.startsWith('FLYWHEEL_') ? [value] : [],
  );
  const { keypair, database } = settings;
  const kept = [keypair.value, database.value?.file].filter((one) => typeof one === 'string');
  return [...words, ...named, ...kept];
}

/** Enough to recognize a key or a database. */
const HEAD_BYTES = 4_096;
const KEYPAIR_BYTES = 64;

const KINDS = [
  ['a database', /^SQLite format 3\0/],
  ['a key', /^fwk_|PRIVATE KEY-----/],
] as const;

function readHead(path: string): string {
  const head = Buffer.alloc(HEAD_BYTES);
  const handle = openSync(path, 'r');
  try {
    return head.toString('utf8', 0, readSync(handle, head));
  } finally {
    closeSync(handle);
  }
}

function kindOf(path: string): string | undefined {
  const text = orNone(() => readHead(path));
  if (text === undefined) return 'a file that cannot be read';
  const parsed = parseKeypairText(text);
  if ('bytes' in parsed && parsed.bytes.length === KEYPAIR_BYTES) return 'a key';
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0];
}

const filesBelow = (directory: string): readonly string[] =>
  orNone(() => readdirSync(directory, { recursive: true, encoding: 'utf8' }))?.map((name) =>
    join(directory, name),
  ) ?? [];
