/** What `flywheel doctor` says of the machine: room on the disk, who works in the data directory, certificates, the language of the terminal. */
import { readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EXIT } from '../../errors/exit-codes.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem } from '../../files/read-file.js';
import type { Session } from '../command.js';
import { check, type Finding } from './finding.js';

const MIB = 1_024 * 1_024;
/** Less than this is filled by a batch and its journal. */
const LEAST_FREE = 64 * MIB;

/** The directory itself, or what is above it where it is not made yet. */
function existing(path: string): string {
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere || dirname(path) === path ? path : existing(dirname(path));
}

function freeSpace(directory: string): string {
  const { bavail, bsize } = statfsSync(existing(directory));
  const free = bavail * bsize;
  const text = `${Math.floor(free / MIB)} MiB free for ${directory}`;
  if (free >= LEAST_FREE) return text;
  throw new FlywheelError('ERR_CONFIG_INVALID', `Only ${text}.`, {
    hint: 'Free disk space. flywheel does not send what it cannot store first.',
  });
}

/** Processes that hold the lock of the data directory, as Linux tells; a lock ends with its process, so that none is ever left behind. */
function lockHolders(lock: string): readonly string[] | null {
  const stats = statSync(lock, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  try {
    const held = readFileSync('/proc/locks', 'utf8').split('\n');
    const ours = held.filter((line) => line.split(/\s+/)[5]?.endsWith(`:${stats.ino}`));
    return [...new Set(ours.flatMap((line) => line.split(/\s+/)[4] ?? []))];
  } catch {
    return null;
  }
}

/** Who holds the lock of a data directory, in words. */
export function lockText(dataDir: string): string {
  const holders = lockHolders(join(dataDir, 'lock'));
  if (holders === null) return 'this system does not show who uses the data directory';
  return holders.length === 0
    ? 'the data directory is not in use'
    : `in use by process ${holders.join(', ')}`;
}

function certificates(file: string): string {
  try {
    readFileSync(file);
    return file;
  } catch (cause) {
    throw new FlywheelError('ERR_CONFIG_INVALID', `NODE_EXTRA_CA_CERTS: ${file}: ${fileProblem(cause)}.`, {
      cause,
      hint: 'Set NODE_EXTRA_CA_CERTS to a readable PEM file, or unset it.',
    });
  }
}

/** package.json, `engines`. */
const LEAST_NODE = '20.18';

function nodeText({ nodeVersion, platform }: Session['context']): string {
  const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 18)) return `${nodeVersion} on ${platform}`;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `This is Node ${nodeVersion}, but Node ${LEAST_NODE} or later is needed.`,
    { hint: `Install Node ${LEAST_NODE} or later: https://nodejs.org/` },
  );
}

function locale(env: Session['context']['env']): Finding {
  const named = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'none';
  const isUnicode = /utf-?8/i.test(named);
  const detail = isUnicode ? named : `${named}: not UTF-8, so the terminal may not show non-ASCII text`;
  return { name: 'locale', ok: true, detail, exit: EXIT.done };
}

/** What holds for every command on this machine. */
export async function checkMachine({ context, settings }: Session): Promise<readonly Finding[]> {
  const isHere = settings.apiUrl.value === null;
  const directory = isHere ? settings.dataDir.value : settings.configDir.value;
  const extraCa = context.env['NODE_EXTRA_CA_CERTS'];
  return [
    await check('node', () => nodeText(context)),
    await check('free space', () => freeSpace(directory)),
    ...(isHere ? [await check('lock', () => lockText(settings.dataDir.value))] : []),
    ...(extraCa === undefined || extraCa === ''
      ? []
      : [await check('extra certificates', () => certificates(extraCa))]),
    locale(context.env),
  ];
}
