/** Resolves every setting with its source: flag, then environment, then profile, then default. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { nodeAddress } from '../../chain/node-address.js';
import type { KeyKeeper, Setting, Settings, Source } from '../../compose/settings.js';
import { API_KEY_HEADER } from '../../contract/headers.js';
import { configError, FlywheelError, isFlywheelError, usageError } from '../../errors/flywheel-error.js';
import { fromEnvironment } from '../../files/keypair-file.js';
import { fileProblem, readIfThere } from '../../files/read-file.js';
import { DatabaseAddress } from '../../values/database-address.js';
import { Secret } from '../../values/secret.js';
import type { CliContext } from '../context.js';
import { longFlag } from '../options.js';
import { messageForm, outputMode } from '../output/color.js';
import { shellLine } from '../shell-line.js';
import { usesOf } from './command-uses.js';
import { type Profile, readPinsFile, readProfileKey, readProfiles } from './profile-file.js';
import {
  configDir,
  defaultDataDir,
  MAX_NODES,
  type Reading,
  SETTING_ROWS,
  type SettingName,
  type ValueOf,
} from './settings-table.js';

export type GlobalFlags = Readonly<Partial<Record<SettingName, string | boolean | readonly string[]>>>;

interface Places {
  readonly flags: GlobalFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly profile: Profile;
}

interface Found {
  readonly text: string;
  readonly source: Source;
  readonly where: string;
}

const usual = <Value>(value: Value): Setting<Value> => ({ value, source: 'default' });

/** An empty variable or profile field counts as not set; an empty option counts as set. */
function findSetting(name: SettingName, { flags, env, profile }: Places): Found | undefined {
  const { flags: option, variables: [variable = ''] = [], isInProfile } = SETTING_ROWS[name];
  const textIn = (value: unknown): string =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const typed = flags[name];
  if (option !== undefined && typeof typed === 'string')
    return { text: typed, source: 'flag', where: longFlag(option) };
  const given = env[variable] ?? '';
  if (given !== '') return { text: given, source: 'environment', where: variable };
  const stored = isInProfile ? textIn((profile as Readonly<Record<string, unknown>>)[name]) : '';
  return stored === '' ? undefined : { text: stored, source: 'profile', where: `${name} of the profile` };
}

const TEXT: Reading<string | null> = { takes: 'text', fallback: null, read: (text) => text };

/** @throws `ERR_USAGE` for a flag, else `ERR_CONFIG_INVALID`, naming the source and the expected value */
function setting<Name extends SettingName>(name: Name, places: Places): Setting<ValueOf<Name>> {
  const reading = (SETTING_ROWS[name].reading ?? TEXT) as Reading<ValueOf<Name>>;
  const found = findSetting(name, places);
  if (found === undefined) return usual(reading.fallback);
  const value = reading.read(found.text);
  if (value !== undefined) return { value, source: found.source };
  throw new FlywheelError(
    found.source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${found.where} takes ${reading.takes}, got ${JSON.stringify(found.text.slice(0, 80))}.`,
  );
}

/** Permission bits of others. The group may read: files mounted into a container often have one. */
const WORLD = 0o007;

const STRENGTH: readonly Source[] = ['flag', 'environment', 'profile'];

/** @throws `ERR_CONFIG_INVALID` for a file that is missing or that every user can read */
function readSecretFile(path: string, name: string, platform: string): string {
  const refuse = (reason: string, hint?: string) => configError(`${name}: ${path}: ${reason}.`, hint);
  let text: string | undefined;
  try {
    text = readIfThere(path);
  } catch (error) {
    throw refuse(fileProblem(error));
  }
  if (text === undefined) throw refuse('no such file or directory');
  if (platform !== 'win32' && (statSync(path).mode & WORLD) !== 0)
    throw refuse(
      'every user can read this file, which has the database password',
      `Run: ${shellLine(['chmod', 'o=', path])}`,
    );
  return text;
}

/** `null` in remote use. The address or file is read only when needed. */
function findDatabase(
  { cwd, platform }: Pick<CliContext, 'cwd' | 'platform'>,
  places: Places,
  isRemote: boolean,
): Settings['database'] {
  if (isRemote) return usual(null);
  // The strongest source wins; within one source an address beats a file.
  const [address, file] = [findSetting('databaseUrl', places), findSetting('databaseUrlFile', places)];
  const [found] = [address, file]
    .filter((one) => one !== undefined)
    .sort((one, other) => STRENGTH.indexOf(one.source) - STRENGTH.indexOf(other.source));
  if (found === undefined) return usual(null);
  const { text, source, where } = found;
  if (found === address) return { value: new DatabaseAddress(where, () => text), source };
  const path = resolve(cwd, text);
  const read = (): string => readSecretFile(path, where, platform);
  return { value: new DatabaseAddress(where, read, path), source };
}

export const rpcUrlsOf = ({ rpcUrl = [] }: Profile): readonly string[] => [rpcUrl].flat();

/** @throws `ERR_CONFIG_INVALID` */
function findNodes({ flags, env, profile }: Places): Settings['rpcUrl'] {
  const variable = (env['FLYWHEEL_RPC_URL'] ?? '').split(/[\s,]+/).filter((word) => word !== '');
  const named: readonly (readonly [readonly string[], Source, string])[] = [
    [[flags.rpcUrl ?? []].flat().map(String), 'flag', '--rpc-url'],
    [variable, 'environment', 'FLYWHEEL_RPC_URL'],
    [rpcUrlsOf(profile), 'profile', 'rpcUrl of the profile'],
  ];
  const found = named.find(([texts]) => texts.length > 0);
  if (found === undefined) return usual([]);
  const [texts, source, where] = found;
  if (texts.length > MAX_NODES) throw configError(`At most ${MAX_NODES} RPC nodes are allowed.`);
  return { value: texts.map((text) => nodeAddress(text, where)), source };
}

/**
 * The embedded engine may need no nodes, so an error outside of the command line is returned as `rpcProblem` if the environment
 * names nodes: it is meant for this command, a profile may not be.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE`, naming the source, never the address
 */
function resolveRpc(
  places: Places,
  isRemote: boolean,
): Pick<Settings, 'rpcUrl' | 'rpcQuorum' | 'rpcProblem'> {
  const { flags, env } = places;
  try {
    return { rpcUrl: findNodes(places), rpcQuorum: setting('rpcQuorum', places), rpcProblem: null };
  } catch (error) {
    const isTyped = flags.rpcUrl !== undefined || flags.rpcQuorum !== undefined;
    if (isRemote || isTyped || !isFlywheelError(error)) throw error;
    const isMeant = /[^\s,]/.test(env['FLYWHEEL_RPC_URL'] ?? '') || (env['FLYWHEEL_RPC_QUORUM'] ?? '') !== '';
    return { rpcUrl: usual([]), rpcQuorum: usual(1), rpcProblem: isMeant ? error : null };
  }
}

/** @throws `ERR_CONFIG_INVALID` if the environment names both a program and a keypair */
function resolveSigner(
  context: CliContext,
  places: Places,
  name: 'operatorSigner' | 'burnSigner',
  variable: 'FLYWHEEL_OPERATOR_KEYPAIR' | 'FLYWHEEL_BURN_KEYPAIR',
): Setting<KeyKeeper | null> {
  const found = findSetting(name, places);
  const { [variable]: keypair = '' } = places.env;
  if (found?.source !== 'flag' && keypair !== '') {
    if (found?.source === 'environment')
      throw configError(`${found.where} and ${variable} cannot be combined.`);
    const load = async () => {
      const { loadKeypair } = await import('../load-keypair.js');
      return loadKeypair(context, fromEnvironment(keypair), variable);
    };
    return { value: { where: variable, load }, source: 'environment' };
  }
  if (found === undefined) return usual(null);
  return { value: { where: found.where, command: found.text }, source: found.source };
}

/**
 * @returns the base URL without a trailing slash.
 * @throws `ERR_CONFIG_INVALID` unless it is http(s) without credentials, query and fragment
 */
function checkApiUrl(text: string, where: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw configError(`${where} must be an http or https address, got ${JSON.stringify(text)}.`);
  // Tests the text, because URL reports an empty query or fragment as none.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href))
    throw configError(`${where} must not contain a user name, password, query or fragment.`);
  return url.href.replace(/\/+$/, '');
}

type ChosenProfile = Setting<string | null> & { readonly profile: Profile };

function chooseProfile(env: Places['env'], flags: GlobalFlags, dir: string): ChosenProfile {
  const { current, profiles } = readProfiles(dir);
  const named = setting('profile', { flags, env, profile: {} });
  const { value, source }: Setting<string | null> =
    named.value === null && current !== null ? { value: current, source: 'profile' } : named;
  if (value === null) return { value, source, profile: {} };
  const profile = Object.hasOwn(profiles, value) ? profiles[value] : undefined;
  if (profile !== undefined) return { value, source, profile };
  // The value is not shown: it may be a key that was pasted into the wrong variable.
  throw configError(
    source === 'environment'
      ? 'FLYWHEEL_PROFILE names a profile that does not exist.'
      : `No profile ${JSON.stringify(value)}.`,
    'List profiles: `flywheel profile list`',
  );
}

function resolveApiUrl(places: Places): Setting<string | null> {
  const { local, apiUrl, dataDir, profile } = places.flags;
  if (local === true && apiUrl !== undefined) throw usageError('--local and --api-url cannot be combined.');
  // --data-dir selects the project in that directory: a burn must not go to an API that a profile or variable names.
  const namesDirectory = dataDir !== undefined && apiUrl === undefined && profile === undefined;
  if (local === true || namesDirectory) return { value: null, source: 'flag' };
  const found = findSetting('apiUrl', places);
  if (found === undefined) return usual(null);
  return { value: checkApiUrl(found.text, found.where), source: found.source };
}

/** A profile's API key is sent only to the profile's own API, however that API was named. */
function resolveApiKey(
  { env, platform }: Pick<CliContext, 'env' | 'platform'>,
  { value: name, profile }: ChosenProfile,
  apiUrl: string | null,
  dir: string,
): Setting<Secret | null> {
  const { FLYWHEEL_API_KEY: given = '' } = env;
  if (given !== '') return { value: new Secret(given), source: 'environment' };
  const own = profile.apiUrl === undefined ? null : checkApiUrl(profile.apiUrl, 'the profile');
  if (name === null || apiUrl === null || apiUrl !== own) return usual(null);
  const key = readProfileKey(dir, name, platform);
  return key === null ? usual(null) : { value: key, source: 'profile' };
}

/** A pins file replaces the profile's pins. Its limits apply in addition, so that no file removes a limit. */
function resolvePins(
  cwd: string,
  file: string | undefined,
  { pinned, limits }: Profile,
): Pick<Settings, 'pinned' | 'pinsFile' | 'limits'> {
  const own: Settings['limits'] = limits === undefined ? [] : [{ value: limits, source: 'profile' }];
  if (file === undefined)
    return {
      pinned: pinned === undefined ? usual(null) : { value: pinned, source: 'profile' },
      ...{ pinsFile: null, limits: own },
    };
  const pinsFile = resolve(cwd, file);
  const given = readPinsFile(pinsFile);
  return {
    ...{ pinned: { value: given.pinned, source: 'flag' }, pinsFile },
    limits: given.limits === null ? own : [...own, { value: given.limits, source: 'flag' }],
  };
}

function resolveKeypair(places: Places): Settings['keypair'] {
  const { text, source } = findSetting('keypair', places) ?? { text: null, source: 'default' };
  return { value: source === 'environment' && text !== null ? fromEnvironment(text) : text, source };
}

/** @throws `ERR_CONFIG_INVALID` or `ERR_USAGE`, naming the value and its source */
export function resolveSettings(context: CliContext, flags: GlobalFlags): Settings {
  const { env, io, cwd } = context;
  const config = configDir(context);
  const found = chooseProfile(env, flags, config.value);
  const { profile, ...chosen } = found;
  const places = { flags, env, profile };
  const apiUrl = resolveApiUrl(places);
  const isRemote = apiUrl.value !== null;
  const dataDir = setting('dataDir', places);
  const header = setting('apiKeyHeader', places);
  const headerName = header.value ?? API_KEY_HEADER;
  if (!/^[A-Za-z0-9-]+$/.test(headerName))
    throw configError(`${JSON.stringify(headerName)} is not a header name.`);
  return {
    output: outputMode(flags, io.stdout.isTTY),
    messages: messageForm(flags),
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    noInput: flags.input === false,
    yes: flags.yes === true,
    profile: chosen,
    apiUrl,
    apiKeyHeader: { ...header, value: headerName.toLowerCase() },
    // A getter: `doctor` must run while the key file is unusable.
    get apiKey() {
      return resolveApiKey(context, found, apiUrl.value, config.value);
    },
    configDir: config,
    dataDir: { ...dataDir, value: resolve(cwd, dataDir.value ?? defaultDataDir(context)) },
    database: findDatabase(context, places, isRemote),
    databasePool: setting('databasePool', places),
    project: setting('project', places),
    ...resolveRpc(places, isRemote),
    maxPriorityFee: setting('maxPriorityFee', places),
    commitment: setting('commitment', places),
    timeoutSeconds: setting('timeoutSeconds', places),
    waitSeconds: setting('waitSeconds', places),
    maxWaitSeconds: setting('maxWaitSeconds', places),
    keypair: resolveKeypair(places),
    signers: {
      operator: resolveSigner(context, places, 'operatorSigner', 'FLYWHEEL_OPERATOR_KEYPAIR'),
      burnWallet: resolveSigner(context, places, 'burnSigner', 'FLYWHEEL_BURN_KEYPAIR'),
    },
    ...resolvePins(cwd, findSetting('pins', places)?.text, profile),
  };
}

/**
 * Refuses a remote API for a command that reads a data directory. @param path - the command, such as `flywheel keys list`
 * @throws `ERR_USAGE`
 */
export function requireDataDirectory(path: string, { apiUrl, profile }: Settings): void {
  if (apiUrl.value === null) return;
  const isProfile = apiUrl.source === 'profile';
  const isTyped = (isProfile ? profile.source : apiUrl.source) === 'flag';
  const uses = usesOf(path.split(' ').slice(1));
  if (!uses.includes('directory') && !(isTyped && uses.includes('local'))) return;
  const remote = isProfile ? `profile ${profile.value}` : apiUrl.value;
  throw usageError(
    `\`${path}\` works on a data directory, but ${remote} is a remote API.`,
    'Add --local to use the data directory of this machine.',
  );
}
