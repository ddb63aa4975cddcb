/**
 * Changes profiles and their API keys on disk, with `conf`: it replaces files atomically, readable by this user only. This module
 * adds a lock. `profile-file` reads without `conf`, which loads too slowly for every command and creates the directory even for a read.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import Conf from 'conf';
import { configError } from '../../errors/flywheel-error.js';
import { JOURNAL_FILE } from '../../files/directories.js';
import { openSqliteFile } from '../../files/sqlite-file.js';
import { makePrivateDirectory } from '../../files/write-file.js';
import { servicePlace } from '../../values/host.js';
import { Secret } from '../../values/secret.js';
import { isEmptyJournal } from '../journal/schema.js';
import { shellLine } from '../shell-line.js';
import {
  API_KEYS_FILE,
  PROFILES_FILE,
  type Profile,
  type ProfileFile,
  readKeys,
  readProfiles,
  requireProfile,
} from './profile-file.js';

/** An empty database; its write lock is held during a change. The system releases it however a process ends. */
const LOCK_FILE = 'profiles.lock';

interface Stored {
  readonly file: ProfileFile;
  /** API keys by profile; a new one is a `Secret`. */
  readonly keys: Readonly<Record<string, unknown>>;
}

/** @throws `ERR_CONFIG_INVALID` for a change that sends a key or pending operations to another service */
async function change(configDir: string, changed: (before: Stored) => Stored): Promise<void> {
  makePrivateDirectory(configDir, 'ERR_CONFIG_INVALID');
  const pending = await openPendingCount(configDir);
  const path = join(configDir, LOCK_FILE);
  const lock = await openSqliteFile({ path, noun: 'lock of the profiles', create: true });
  try {
    lock.write(() => {
      const before = { file: readProfiles(configDir), keys: readKeys(configDir) };
      const after = changed(before);
      const kept = Object.entries(before.keys).filter(([name, key]) => after.keys[name] === key);
      for (const [name, profile] of Object.entries(before.file.profiles)) {
        const now = after.file.profiles[name] ?? {};
        if (placeOf(profile) !== placeOf(now)) requireNotInUse(pending.at(placeOf(profile) ?? ''), name);
        if (kept.some(([of]) => of === name)) requireSameService(name, profile, now);
      }
      // A process that is killed in between leaves no key, never the old one beside the new address.
      if (after.keys !== before.keys) write(configDir, API_KEYS_FILE, Object.fromEntries(kept));
      write(configDir, PROFILES_FILE, after.file);
      const revealed = ([name, key]: [string, unknown]) => [name, key instanceof Secret ? key.reveal() : key];
      if (after.keys !== before.keys)
        write(configDir, API_KEYS_FILE, Object.fromEntries(Object.entries(after.keys).map(revealed)));
    });
  } finally {
    lock.close();
    pending.close();
  }
}

function write(configDir: string, file: string, content: object): void {
  const conf = new Conf({
    cwd: configDir,
    configName: file.replace(/\.json$/, ''),
    projectSuffix: '',
    configFileMode: 0o600,
    clearInvalidConfig: false,
  });
  conf.store = { ...content };
}

/** An API key must not go to another service than the one it is for. @throws `ERR_CONFIG_INVALID` */
function requireSameService(name: string, before: Profile, after: Profile): void {
  const originOf = ({ apiUrl }: Profile): string | undefined =>
    apiUrl !== undefined && URL.canParse(apiUrl) ? new URL(apiUrl).origin : apiUrl;
  const [old, now] = [originOf(before), originOf(after)];
  if (old === undefined || now === undefined || old === now) return;
  throw configError(
    `The API key of profile ${JSON.stringify(name)} is for ${old}, but would be sent to ${now}. Nothing was changed.`,
    'Set a key for the new address too: `flywheel profile add NAME --update --api-url URL --api-key-stdin`',
  );
}

const placeOf = ({ apiUrl }: Profile): string | undefined =>
  apiUrl !== undefined && URL.canParse(apiUrl) ? servicePlace(apiUrl) : apiUrl;

/** @throws `ERR_CONFIG_INVALID` if operations are pending at the profile's address */
function requireNotInUse(count: number, name: string): void {
  if (count === 0) return;
  throw configError(
    `The profile ${name} has ${count} pending operations or waiting batches. Nothing was changed.`,
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
export const saveProfile = (configDir: string, name: string, { changes, key, isNew }: ProfileChange) =>
  change(configDir, ({ file, keys }) => {
    const { current, profiles } = file;
    const isThere = Object.hasOwn(profiles, name);
    if (isThere && isNew)
      throw configError(
        `The profile ${name} already exists.`,
        'Add --update to change the profile and keep its other values.',
      );
    const before = (isThere ? profiles[name] : undefined) ?? {};
    return {
      file: {
        ...file,
        current: current ?? (Object.keys(profiles).length === 0 ? name : null),
        profiles: { ...profiles, [name]: { ...before, ...changes(before) } },
      },
      keys: key === null ? keys : { ...keys, [name]: key },
    };
  });

/** @param name - `null` for no current profile. @throws `ERR_CONFIG_INVALID` for an unknown profile */
export const useProfile = (configDir: string, name: string | null) =>
  change(configDir, ({ file, keys }) => {
    if (name !== null) requireProfile(file.profiles, name);
    return { file: { ...file, current: name }, keys };
  });

/** Removes a profile and its key. @throws `ERR_CONFIG_INVALID` for an unknown profile, or if operations are pending at its address */
export const removeProfile = (configDir: string, name: string) =>
  change(configDir, ({ file, keys: { [name]: _key, ...keys } }) => {
    const { current, profiles } = file;
    requireProfile(profiles, name);
    const { [name]: _removed, ...others } = profiles;
    return { file: { ...file, current: current === name ? null : current, profiles: others }, keys };
  });

/** Counts operations with an unknown or unprinted outcome, and waiting batches. @throws `ERR_STORE_UNAVAILABLE` */
async function openPendingCount(directory: string) {
  const path = join(directory, JOURNAL_FILE);
  const file =
    statSync(path, { throwIfNoEntry: false }) &&
    (await openSqliteFile({
      ...{ path, noun: 'journal', use: 'reader', create: false },
      inspect: (opened) => void isEmptyJournal(opened),
    }));
  const sql = `SELECT count(*) FROM operations o JOIN targets t ON t.id = o.target
    WHERE t.address = ? AND (o.state IN ('open', 'waiting') OR o.told = 0)`;
  return {
    at: (address: string): number => Number(file?.prepare(sql).get([address])?.[0] ?? 0),
    close: () => file?.close(),
  };
}
