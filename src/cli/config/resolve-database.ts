/** Which database holds the flywheels, and which of them is meant: flag > environment > profile > the variable of all programs. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Settings, Source } from '../../compose/settings.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem, readIfThere } from '../../files/read-file.js';
import { DatabaseAddress } from '../../values/database-address.js';
import type { CliContext } from '../context.js';
import { shellLine } from '../shell-line.js';
import { findSetting, type Places, setting } from './find-setting.js';

/** Permission bits of others than owner and group: files that a container is given often have a group. */
const WORLD = 0o007;

const STRENGTH: readonly Source[] = ['flag', 'environment', 'profile'];

/** @throws `ERR_CONFIG_INVALID` for a file that is not there, or that everybody can read. */
function readSecretFile(path: string, name: string, platform: string): string {
  const refuse = (reason: string, hint?: string): FlywheelError =>
    new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${name}: ${path}: ${reason}.`,
      hint === undefined ? {} : { hint },
    );
  let text: string | undefined;
  try {
    text = readIfThere(path);
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  if (text === undefined) throw refuse('there is no such file');
  if (platform !== 'win32' && (statSync(path).mode & WORLD) !== 0)
    throw refuse(
      'it holds the database password, and every user can read it',
      `Run: ${shellLine(['chmod', 'o=', path])}`,
    );
  return text;
}

function findDatabase(
  { cwd, platform }: Pick<CliContext, 'cwd' | 'platform'>,
  places: Places,
): Settings['database'] {
  // An address comes before a file in the same place; the variable of all programs comes last.
  const [file, address] = [findSetting('databaseUrlFile', places), findSetting('databaseUrl', places)];
  const isAddress =
    address !== undefined &&
    (file === undefined || STRENGTH.indexOf(address.source) <= STRENGTH.indexOf(file.source));
  const found = isAddress ? address : file;
  const shared = places.env['DATABASE_URL'] ?? '';
  if (found === undefined) {
    if (shared === '') return { value: null, source: 'default' };
    const value = new DatabaseAddress('DATABASE_URL', () => shared, { isOwn: false });
    return { value, source: 'environment' };
  }
  const { text, source, where } = found;
  if (isAddress) return { value: new DatabaseAddress(where, () => text), source };
  const path = resolve(cwd, text);
  const read = (): string => readSecretFile(path, where, platform);
  return { value: new DatabaseAddress(where, read, { file: path }), source };
}

/** All of it; a service elsewhere has its own database. Nothing is read before it is needed. */
export const resolveDatabase = (
  ambient: Pick<CliContext, 'cwd' | 'platform'>,
  places: Places,
  isRemote: boolean,
): Pick<Settings, 'database' | 'databasePool' | 'project'> => ({
  database: isRemote ? { value: null, source: 'default' } : findDatabase(ambient, places),
  databasePool: setting('databasePool', places),
  project: setting('project', places),
});
