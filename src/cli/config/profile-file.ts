/** Reads profiles and their API keys; `profile-store` writes them. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Limits, limitsProblem } from '../../approval/limits.js';
import type { Pins } from '../../approval/pins.js';
import { configError, FlywheelError } from '../../errors/flywheel-error.js';
import { readIfThere } from '../../files/read-file.js';
import { isAddress } from '../../values/address.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { Secret } from '../../values/secret.js';
import { shellLine } from '../shell-line.js';
import { SETTING_ROWS } from './settings-table.js';

export const PROFILES_FILE = 'profiles.json';
export const API_KEYS_FILE = 'api-keys.json';

export interface Profile {
  readonly apiUrl?: string;
  readonly apiKeyHeader?: string;
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  readonly databaseUrlFile?: string;
  readonly project?: string;
  /** Node URLs, or names of clusters. */
  readonly rpcUrl?: string | readonly string[];
  readonly rpcQuorum?: number;
  /** Lamports beyond the signature fees that a transaction may pay. */
  readonly maxPriorityFee?: number;
  readonly commitment?: string;
  readonly keypair?: string;
  /** Commands of programs that sign for the embedded engine. */
  readonly operatorSigner?: string;
  readonly burnSigner?: string;
  readonly pinned?: Pins;
  readonly limits?: Limits;
}

interface PinsFile {
  readonly pinned: Pins;
  readonly limits: Limits | null;
}

export interface ProfileFile {
  readonly current: string | null;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const FIELDS = Object.entries(SETTING_ROWS).flatMap(([name, { isInProfile, isList, reading }]) =>
  isInProfile && isList !== true ? [[name, typeof (reading?.fallback ?? '')] as const] : [],
);
const PINNED_FIELDS = ['multisig', 'owner', 'operator', 'mint'] as const;

const refuse = (file: string, reason: string, cause?: unknown, hint = 'Fix or remove the file.'): never => {
  throw new FlywheelError('ERR_CONFIG_INVALID', `${file}: ${reason}.`, { hint, cause });
};

/** Squads stores the vault index in one byte. */
const isVaultIndex = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;

function readObject(file: string): Record<string, unknown> | undefined {
  let text: string | undefined;
  try {
    text = readIfThere(file);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const hint = 'Give this user read access to the file, or set FLYWHEEL_CONFIG_DIR to another directory.';
    return refuse(file, `cannot be read (${code})`, error, hint);
  }
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : refuse(file, 'expected a JSON object');
  } catch (error) {
    if (error instanceof FlywheelError) throw error;
    return refuse(file, 'is not JSON', error);
  }
}

function readPinned(value: unknown, where: string, file: string): Pins {
  if (!isJsonObject(value) || !isVaultIndex(value['vaultIndex']))
    return refuse(file, `${where} has no valid pins`);
  for (const field of PINNED_FIELDS)
    if (!isAddress(String(value[field]))) refuse(file, `${where}.${field} must be an address`);
  const { facts = {} } = value;
  if (!isJsonObject(facts) || !Object.values(facts).every((fact) => typeof fact === 'string'))
    refuse(file, `${where}.facts must be an object of texts`);
  return value as unknown as Pins;
}

function readLimits(value: unknown, where: string, file: string): Limits | null {
  if (value === undefined) return null;
  const problem = limitsProblem(value);
  return problem === undefined ? (value as Limits) : refuse(file, `${where} ${problem}`);
}

/** Reads a file of `profile pin --out`: pins, and limits if it has them. @throws `ERR_CONFIG_INVALID`, naming the file and the problem */
export function readPinsFile(file: string): PinsFile {
  const value = readObject(file);
  if (value === undefined) return refuse(file, 'no such file or directory');
  return { pinned: readPinned(value, 'the file', file), limits: readLimits(value['limits'], 'limits', file) };
}

function readProfile(value: unknown, name: string, file: string): Profile {
  if (!isJsonObject(value)) return refuse(file, `profile ${JSON.stringify(name)} must be an object`);
  for (const [field, type] of FIELDS)
    if (!['undefined', type].includes(typeof value[field]))
      refuse(file, `profiles.${name}.${field} must be ${type === 'number' ? 'a number' : 'text'}`);
  if ([value['rpcUrl'] ?? []].flat().some((item) => typeof item !== 'string'))
    refuse(file, `profiles.${name}.rpcUrl must be text or a list of texts`);
  if (value['pinned'] !== undefined) readPinned(value['pinned'], `profiles.${name}.pinned`, file);
  readLimits(value['limits'], `profiles.${name}.limits`, file);
  return value as Profile;
}

/** Fields of other versions stay. @returns no profiles for a missing file. @throws `ERR_CONFIG_INVALID`, naming the file and the problem */
export function readProfiles(configDir: string): ProfileFile {
  const file = join(configDir, PROFILES_FILE);
  const { profiles = {}, current = null, ...others } = readObject(file) ?? {};
  if (!isJsonObject(profiles)) return refuse(file, '"profiles" must be an object');
  if (current !== null && typeof current !== 'string')
    return refuse(file, '"current" must be a name or null');
  const read = Object.entries(profiles).map(([name, profile]) => [name, readProfile(profile, name, file)]);
  return { ...others, current, profiles: Object.fromEntries(read) };
}

/** @throws `ERR_CONFIG_INVALID` for an unknown profile */
export function requireProfile(profiles: ProfileFile['profiles'], name: string | null): Profile {
  const profile = name !== null && Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  throw configError(
    name === null ? 'No profile is in use.' : `No profile ${JSON.stringify(name)}.`,
    'List profiles: `flywheel profile list`',
  );
}

const OTHERS = 0o077;

/** API keys by profile. @throws `ERR_CONFIG_INVALID`, naming the file and the problem */
export const readKeys = (configDir: string): Readonly<Record<string, unknown>> =>
  readObject(join(configDir, API_KEYS_FILE)) ?? {};

/** @throws `ERR_CONFIG_INVALID` if group or others can read the file */
export function readProfileKey(configDir: string, profile: string, platform: string): Secret | null {
  const file = join(configDir, API_KEYS_FILE);
  const keys = readKeys(configDir);
  const key = Object.hasOwn(keys, profile) ? keys[profile] : undefined;
  if (typeof key !== 'string') return null;
  if (platform !== 'win32' && (statSync(file).mode & OTHERS) !== 0) {
    throw configError(
      `${file} has API keys, and other users can read the file.`,
      `Run: ${shellLine(['chmod', '600', file])}`,
    );
  }
  return new Secret(key);
}
