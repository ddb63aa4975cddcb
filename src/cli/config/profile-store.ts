/**
 * Changes profiles and their API keys on disk, with `conf`: it replaces files atomically, readable by this user only. This module
 * adds a lock. `profile-file` reads without `conf`, which loads too slowly for every command and creates the directory even for a read.
 */
import { join } from 'node:path';
import Conf from 'conf';
import { configError } from '../../errors/flywheel-error.js';
import { openSqliteFile } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import { servicePlace } from '../../values/host.js';
import type { Secret } from '../../values/secret.js';
import { openPendingCount } from '../journal/names.js';
import { shellLine } from '../shell-line.js';
import { API_KEYS_FILE, PROFILES_FILE } from './paths.js';
import { type Profile, type ProfileFile, readKeys, readProfiles } from './profile-file.js';

/** An empty database; its write lock is held during a change. The system releases it however a process ends. */
const LOCK_FILE = 'profiles.lock';

async function alone<Result>(configDir: string, change: () => Result): Promise<Result> {
  makePrivateDirectory(configDir, 'ERR_CONFIG_INVALID');
  const path = join(configDir, LOCK_FILE);
  const lock = await openSqliteFile({ path, noun: 'lock of the profiles', create: true });
  try {
    return lock.write(change);
  } finally {
    lock.close();
  }
}

type PendingCount = Awaited<ReturnType<typeof openPendingCount>>;

async function withPending(configDir: string, change: (pending: PendingCount) => void): Promise<void> {
  const pending = await openPendingCount(configDir);
  try {
    await alone(configDir, () => change(pending));
  } finally {
    pending.close();
  }
}

function write(configDir: string, file: string, content: Readonly<Record<string, unknown>>): void {
  const conf = new Conf({
    cwd: configDir,
    configName: file.replace(/\.json$/, ''),
    projectSuffix: '',
    configFileMode: 0o600,
    clearInvalidConfig: false,
  });
  conf.store = content;
}

/** An API key must not go to another service than the one it is for. @throws `ERR_CONFIG_INVALID` */
function requireSameService(configDir: string, name: string, before: Profile, after: Profile): void {
  const originOf = ({ apiUrl }: Profile): string | undefined =>
    apiUrl !== undefined && URL.canParse(apiUrl) ? new URL(apiUrl).origin : apiUrl;
  const [old, now] = [originOf(before), originOf(after)];
  if (old === undefined || now === undefined || old === now) return;
  if (!Object.hasOwn(readKeys(configDir), name)) return;
  throw configError(
    `The API key of profile ${JSON.stringify(name)} is for ${old}, but would be sent to ${now}. Nothing was changed.`,
    'Set a key for the new address too: `flywheel profile add NAME --update --api-url URL --api-key-stdin`',
  );
}

const placeOf = ({ apiUrl }: Profile): string | undefined =>
  apiUrl !== undefined && URL.canParse(apiUrl) ? servicePlace(apiUrl) : apiUrl;

/** @throws `ERR_CONFIG_INVALID` if operations are pending at the profile's address. @param unchanged - such as "Nothing was removed." */
function requireNotInUse(pending: PendingCount, name: string, profile: Profile, unchanged: string): void {
  const place = placeOf(profile);
  const count = place === undefined ? 0 : pending.at(place);
  if (count === 0) return;
  throw configError(
    `The profile ${name} has ${count} pending operations or waiting batches. ${unchanged}`,
    `Run \`flywheel pending resume --profile ${shellLine([name])}\`. Execute or cancel waiting batches.`,
  );
}

interface ProfileChange {
  /** Computes the changed fields under the lock. */
  readonly changes: (before: Profile) => Profile;
  /** `null` leaves the stored key unchanged. */
  readonly key: Secret | null;
  readonly isNew: boolean;
}

/** Adds a profile or changes its fields; the first profile becomes the current one. @throws `ERR_CONFIG_INVALID` */
export function saveProfile(
  configDir: string,
  name: string,
  { changes, key, isNew }: ProfileChange,
): Promise<void> {
  return withPending(configDir, (pending) => {
    const file = readProfiles(configDir);
    const { current, profiles } = file;
    const isThere = Object.hasOwn(profiles, name);
    if (isThere && isNew)
      throw configError(
        `The profile ${name} already exists.`,
        'Add --update to change the profile and keep its other values.',
      );
    const before = (isThere ? profiles[name] : undefined) ?? {};
    const profile = { ...before, ...changes(before) };
    if (placeOf(before) !== placeOf(profile)) requireNotInUse(pending, name, before, 'Nothing was changed.');
    if (key === null) requireSameService(configDir, name, before, profile);
    const writeProfile = (): void =>
      write(configDir, PROFILES_FILE, {
        ...file,
        current: current ?? (Object.keys(profiles).length === 0 ? name : null),
        profiles: { ...profiles, [name]: profile },
      });
    if (key === null) writeProfile();
    else replaceKey(configDir, name, key, writeProfile);
  });
}

/** A process that is killed in between leaves no key, never the old one beside the new address. */
function replaceKey(configDir: string, name: string, key: Secret, writeProfile: () => void): void {
  const { [name]: _old, ...others } = readKeys(configDir);
  write(configDir, API_KEYS_FILE, others);
  writeProfile();
  write(configDir, API_KEYS_FILE, { ...others, [name]: key.reveal() });
}

/** @param name - `null` for no current profile. @throws `ERR_CONFIG_INVALID` for an unknown profile */
export function useProfile(configDir: string, name: string | null): Promise<void> {
  return alone(configDir, () => {
    const file = name === null ? readProfiles(configDir) : requireProfile(configDir, name);
    write(configDir, PROFILES_FILE, { ...file, current: name });
  });
}

/** Removes a profile and its key. @throws `ERR_CONFIG_INVALID` for an unknown profile, or if operations are pending at its address */
export function removeProfile(configDir: string, name: string): Promise<void> {
  return withPending(configDir, (pending) => {
    const { current, profiles, ...others } = requireProfile(configDir, name);
    const { [name]: removed = {}, ...rest } = profiles;
    requireNotInUse(pending, name, removed, 'Nothing was removed.');
    const { [name]: _key, ...keys } = readKeys(configDir);
    write(configDir, API_KEYS_FILE, keys);
    write(configDir, PROFILES_FILE, {
      ...others,
      current: current === name ? null : current,
      profiles: rest,
    });
  });
}

/** @throws `ERR_CONFIG_INVALID` for an unknown profile */
function requireProfile(configDir: string, name: string): ProfileFile {
  const file = readProfiles(configDir);
  if (Object.hasOwn(file.profiles, name)) return file;
  throw configError(
    `No profile ${JSON.stringify(name)} in ${join(configDir, PROFILES_FILE)}.`,
    'List profiles: `flywheel profile list`',
  );
}
