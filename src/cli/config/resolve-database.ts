/** Which database holds the flywheels, and which of them is meant: flag > environment > profile > the variable of all programs. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem, readIfThere } from '../../files/read-file.js';
import { isProjectName, PROJECT_NAME_RULE } from '../../values/project-name.js';
import type { Ambient } from '../context.js';
import { shellLine } from '../shell-line.js';
import { DatabaseAddress } from './database-address.js';
import type { Profile } from './profile-file.js';
import type { GlobalFlags } from './resolve.js';
import type { Setting, Settings, Source } from './settings.js';

/** Permission bits of others than owner and group: files that a container is given often have a group. */
const WORLD = 0o007;

/** Where an address may stand. */
interface Place {
  readonly source: Source;
  readonly name: string;
  readonly text: string | undefined;
  readonly isFile?: true;
  readonly isOwn?: false;
}

function placesOf({ env }: Ambient, flags: GlobalFlags, profile: Profile): readonly Place[] {
  const variable = (name: string): Pick<Place, 'source' | 'name' | 'text'> => ({
    ...{ source: 'environment', name, text: env[name] },
  });
  return [
    { source: 'flag', name: '--database-url-file', text: flags.databaseUrlFile, isFile: true },
    variable('FLYWHEEL_DATABASE_URL'),
    { ...variable('FLYWHEEL_DATABASE_URL_FILE'), isFile: true },
    {
      ...{ source: 'profile', name: 'databaseUrlFile of the profile', text: profile.databaseUrlFile },
      isFile: true,
    },
    { source: 'profile', name: 'databaseUrl of the profile', text: profile.databaseUrl },
    { ...variable('DATABASE_URL'), isOwn: false },
  ];
}

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
      'it holds the password of the database and everybody can read it',
      `Run: ${shellLine(['chmod', 'o=', path])}`,
    );
  return text;
}

function findDatabase(ambient: Ambient, flags: GlobalFlags, profile: Profile): Settings['database'] {
  const place = placesOf(ambient, flags, profile).find(({ text }) => text !== undefined && text !== '');
  const { text } = place ?? {};
  if (place === undefined || text === undefined) return { value: null, source: 'default' };
  const { source, name, isFile = false, isOwn = true } = place;
  const file = isFile ? resolve(ambient.cwd, text) : null;
  const read = (): string => (file === null ? text : readSecretFile(file, name, ambient.platform));
  return { value: new DatabaseAddress(name, read, { isOwn, file }), source };
}

/** @throws `ERR_USAGE` or `ERR_CONFIG_INVALID` for what is no name of a project. */
function checkedProject(text: string, source: Source, name: string): Setting<string> {
  if (isProjectName(text)) return { value: text, source };
  throw new FlywheelError(
    source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${name} takes ${PROJECT_NAME_RULE}, got ${JSON.stringify(text.slice(0, 80))}.`,
  );
}

function findProject({ env }: Ambient, flags: GlobalFlags, profile: Profile): Setting<string | null> {
  if (flags.project !== undefined) return checkedProject(flags.project, 'flag', '--project');
  const variable = env['FLYWHEEL_PROJECT'];
  if (variable !== undefined && variable !== '')
    return checkedProject(variable, 'environment', 'FLYWHEEL_PROJECT');
  return profile.project === undefined
    ? { value: null, source: 'default' }
    : checkedProject(profile.project, 'profile', 'project of the profile');
}

/** What a server takes: as many that write as that read, one for counts of the rate limits and one for numbers. */
const DEFAULT_POOL = 10;
const LEAST_POOL = 4;
const MOST_POOL = 1_000;

/** @throws `ERR_CONFIG_INVALID` */
function findPool({ env }: Ambient): Setting<number> {
  const text = env['FLYWHEEL_DATABASE_POOL'];
  if (text === undefined || text === '') return { value: DEFAULT_POOL, source: 'default' };
  const value = Number(text);
  if (/^\d{1,4}$/.test(text) && value >= LEAST_POOL && value <= MOST_POOL)
    return { value, source: 'environment' };
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `FLYWHEEL_DATABASE_POOL takes connections from ${LEAST_POOL} to ${MOST_POOL}, got ${JSON.stringify(text.slice(0, 20))}.`,
  );
}

/** All of it; a service elsewhere has its own database. Nothing is read before it is needed. */
export function resolveDatabase(
  ambient: Ambient,
  flags: GlobalFlags,
  profile: Profile,
  isRemote: boolean,
): Pick<Settings, 'database' | 'databasePool' | 'project'> {
  return {
    database: isRemote ? { value: null, source: 'default' } : findDatabase(ambient, flags, profile),
    databasePool: findPool(ambient),
    project: findProject(ambient, flags, profile),
  };
}
