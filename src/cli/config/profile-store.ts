/**
 * Changes profiles and their API keys on disk, with `conf`: it replaces files atomically, readable by this user only. This module
 * adds a lock, and checks the files first, because `conf`'s errors for a damaged file name neither the file nor a remedy.
 * `profile-file` reads without `conf`, which loads too slowly for every command and creates the directory even for a read.
 */
import { join } from 'node:path';
import Conf from 'conf';
import { servicePlace } from '../../contract/service-place.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { openSqliteFile } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import type { Secret } from '../../values/secret.js';
import { countPending } from '../journal/names.js';
import { shellLine } from '../shell-line.js';
import { API_KEYS_FILE, PROFILES_FILE } from './paths.js';
import { checkKeys, hasKey, type Profile, type ProfileFile, readProfiles } from './profile-file.js';

const MODE = 0o600;
/** An empty database; its write lock is held during a change. The system releases it however a process ends. */
const LOCK_FILE = 'profiles.lock';

async function alone<Result>(configDir: string, change: () => Result): Promise<Result> {
  makePrivateDirectory(configDir, 'ERR_CONFIG_INVALID');
  const lock = await openSqliteFile({
    path: join(configDir, LOCK_FILE),
    noun: 'lock of the profiles',
    create: true,
  });
  try {
    return lock.write(change);
  } finally {
    lock.close();
  }
}

function open<Content extends Record<string, unknown>>(configDir: string, file: string): Conf<Content> {
  makePrivateDirectory(configDir, 'ERR_CONFIG_INVALID');
  return new Conf<Content>({
    cwd: configDir,
    configName: file.replace(/\.json$/, ''),
    projectSuffix: '',
    configFileMode: MODE,
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
  });
}

/** An API key must not go to another service than the one it is for. @throws `ERR_CONFIG_INVALID` */
function requireSameService(configDir: string, name: string, before: Profile, after: Profile): void {
  const originOf = ({ apiUrl }: Profile): string | undefined =>
    apiUrl !== undefined && URL.canParse(apiUrl) ? new URL(apiUrl).origin : apiUrl;
  const [old, now] = [originOf(before), originOf(after)];
  if (old === undefined || now === undefined || old === now || !hasKey(configDir, name)) return;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `The API key of profile ${JSON.stringify(name)} is for ${old}, but would be sent to ${now}. Nothing was changed.`,
    {
      hint: 'Set a key for the new address too: `flywheel profile add NAME --update --api-url URL --api-key-stdin`',
    },
  );
}

const placeOf = ({ apiUrl }: Profile): string | undefined =>
  apiUrl !== undefined && URL.canParse(apiUrl) ? servicePlace(apiUrl) : apiUrl;

const isInUse = (name: string, pending: number, unchanged: string): FlywheelError =>
  new FlywheelError(
    'ERR_CONFIG_INVALID',
    `The profile ${name} has ${pending} pending operations or waiting batches. ${unchanged}`,
    {
      hint: `Run \`flywheel pending resume -p ${shellLine([name])}\`. Execute or cancel waiting batches.`,
    },
  );

/** @throws `ERR_CONFIG_INVALID` if operations are pending at the profile's old address */
function requireSamePlace(name: string, pending: number, before: Profile, after: Profile): void {
  if (pending > 0 && placeOf(before) !== placeOf(after)) throw isInUse(name, pending, 'Nothing was changed.');
}

/** Counts pending operations at the profile's address. @throws `ERR_STORE_UNAVAILABLE` */
async function pendingOf(configDir: string, name: string): Promise<number> {
  const { profiles } = readProfiles(configDir);
  const address = Object.hasOwn(profiles, name) ? placeOf(profiles[name] ?? {}) : undefined;
  return address === undefined ? 0 : countPending(configDir, address);
}

interface ProfileChange {
  /** Computes the changed fields under the lock. */
  readonly changes: (before: Profile) => Profile;
  /** `null` leaves the stored key unchanged. */
  readonly key: Secret | null;
  readonly isNew: boolean;
}

/** Adds a profile or changes its fields; the first profile becomes the current one. @throws `ERR_CONFIG_INVALID` */
export async function saveProfile(
  configDir: string,
  name: string,
  { changes, key, isNew }: ProfileChange,
): Promise<void> {
  const pending = await pendingOf(configDir, name);
  return alone(configDir, () => {
    const { current, profiles } = readProfiles(configDir);
    if (key !== null) checkKeys(configDir);
    const isThere = Object.hasOwn(profiles, name);
    if (isThere && isNew)
      throw new FlywheelError('ERR_CONFIG_INVALID', `The profile ${name} already exists.`, {
        hint: '--update changes the profile and keeps other values.',
      });
    const before = (isThere ? profiles[name] : undefined) ?? {};
    const profile = { ...before, ...changes(before) };
    requireSamePlace(name, pending, before, profile);
    if (key === null) requireSameService(configDir, name, before, profile);
    write(configDir, { current: current ?? name, profiles: { ...profiles, [name]: profile } });
    if (key !== null) open<Record<string, string>>(configDir, API_KEYS_FILE).set(name, key.reveal());
  });
}

function write(configDir: string, { current, profiles }: ProfileFile): void {
  const store = open<{ current: string | null; profiles: Record<string, Profile> }>(configDir, PROFILES_FILE);
  // Sets these two keys only: fields of other versions stay.
  store.set({ current, profiles: { ...profiles } });
}

/** @param name - `null` for no current profile. @throws `ERR_CONFIG_INVALID` for an unknown profile */
export function useProfile(configDir: string, name: string | null): Promise<void> {
  return alone(configDir, () => {
    const { profiles } = name === null ? readProfiles(configDir) : requireProfile(configDir, name);
    write(configDir, { current: name, profiles });
  });
}

/** Removes a profile and its key. @throws `ERR_CONFIG_INVALID` for an unknown profile, or if operations are pending at its address */
export async function removeProfile(configDir: string, name: string): Promise<void> {
  const pending = await pendingOf(configDir, name);
  if (pending > 0) throw isInUse(name, pending, 'Nothing was removed.');
  return alone(configDir, () => {
    const { current, profiles } = requireProfile(configDir, name);
    checkKeys(configDir);
    const rest = Object.fromEntries(Object.entries(profiles).filter(([other]) => other !== name));
    open<Record<string, string>>(configDir, API_KEYS_FILE).delete(name);
    write(configDir, { current: current === name ? null : current, profiles: rest });
  });
}

/** @throws `ERR_CONFIG_INVALID` for an unknown profile */
function requireProfile(configDir: string, name: string): ProfileFile {
  const file = readProfiles(configDir);
  if (Object.hasOwn(file.profiles, name)) return file;
  throw new FlywheelError(
    'ERR_CONFIG_INVALID',
    `No profile ${JSON.stringify(name)} in ${join(configDir, PROFILES_FILE)}.`,
    { hint: 'List profiles: `flywheel profile list`' },
  );
}
