/** Flag > environment > profile > default: every setting with its source. */
import { statSync } from 'node:fs';
import { resolve, resolve as resolvePath } from 'node:path';
import { type NodeAddress, nodeAddress, solanaCliAddress } from '../../chain/node-address.js';
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type {
  KeyKeeper,
  LimitSetting,
  Setting,
  Settings,
  SignerSettings,
  Source,
} from '../../compose/settings.js';
import { API_KEY_HEADER } from '../../contract/headers.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { fileProblem, readIfThere } from '../../files/read-file.js';
import { DatabaseAddress } from '../../values/database-address.js';
import { Secret } from '../../values/secret.js';
import type { CliContext } from '../context.js';
import { messageForm, outputMode } from '../output/color.js';
import { shellLine } from '../shell-line.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import { configDir, defaultDataDir, SOLANA_CONFIG_FILE, solanaCliSetting } from './paths.js';
import { type Profile, readPinsFile, readProfileKey, readProfiles } from './profile-file.js';
import {
  MAX_NODES,
  type Reading,
  SETTING_ROWS,
  type SETTINGS_TABLE,
  type SettingName,
  type ValueOf,
} from './settings-table.js';

/** Global options as they were typed, by their settings. */
export type GlobalFlags = Readonly<Partial<Record<SettingName, string | boolean | readonly string[]>>>;

/** Where settings are looked up. */
export interface Places {
  readonly flags: GlobalFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly profile: object;
}

/** What stands there. */
export interface Found {
  readonly text: string;
  readonly source: Source;
  /** How a message calls the place. */
  readonly where: string;
}

/** `--max-wait <seconds>` and `-p, --profile <name>`: `--max-wait`, `--profile`. */
export const longFlag = (flags: string): string => /--[a-z-]+/.exec(flags)?.[0] ?? flags;

const textIn = (holder: object, key: string): string | undefined => {
  const value = (holder as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

/** The text of a setting; one that is empty is not set, except as an option. */
function findSetting(name: SettingName, { flags, env, profile }: Places): Found | undefined {
  const { flags: option, variables = [], profile: field } = SETTING_ROWS[name];
  const typed = option === undefined ? undefined : textIn(flags, name);
  if (typed !== undefined && option !== undefined)
    return { text: typed, source: 'flag', where: longFlag(option) };
  const [variable = ''] = variables;
  const given = env[variable];
  if (given !== undefined && given !== '') return { text: given, source: 'environment', where: variable };
  const stored = field === undefined ? undefined : textIn(profile, field);
  if (stored === undefined || stored === '') return undefined;
  return { text: stored, source: 'profile', where: `${field} of the profile` };
}

const TEXT: Reading<string | null> = { takes: 'text', fallback: null, read: (text) => text };

/** A setting as it was found and read. @throws `ERR_USAGE` for what was typed, else `ERR_CONFIG_INVALID`, naming the place and what it takes. */
export function setting<Name extends SettingName>(name: Name, places: Places): Setting<ValueOf<Name>> {
  const reading = (SETTING_ROWS[name].reading ?? TEXT) as Reading<ValueOf<Name>>;
  const found = findSetting(name, places);
  if (found === undefined) return { value: reading.fallback, source: 'default' };
  const value = reading.read(found.text);
  if (value !== undefined) return { value, source: found.source };
  throw new FlywheelError(
    found.source === 'flag' ? 'ERR_USAGE' : 'ERR_CONFIG_INVALID',
    `${found.where} takes ${reading.takes}, got ${JSON.stringify(found.text.slice(0, 80))}.`,
  );
}

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
const resolveDatabase = (
  ambient: Pick<CliContext, 'cwd' | 'platform'>,
  places: Places,
  isRemote: boolean,
): Pick<Settings, 'database' | 'databasePool' | 'project'> => ({
  database: isRemote ? { value: null, source: 'default' } : findDatabase(ambient, places),
  databasePool: setting('databasePool', places),
  project: setting('project', places),
});

type RpcPlaces = Places & { readonly profile: Profile };

const NONE: Setting<readonly NodeAddress[]> = { value: [], source: 'default' };

/** The addresses in a variable, between commas or blanks. */
const words = (text: string | undefined): readonly string[] =>
  (text ?? '').split(/[\s,]+/).filter((word) => word !== '');

/** What a profile stores, as a list. */
export const rpcUrlsOf = ({ rpcUrl }: Profile): readonly string[] =>
  rpcUrl === undefined ? [] : typeof rpcUrl === 'string' ? [rpcUrl] : rpcUrl;

function addresses(
  texts: readonly string[],
  source: Source,
  read: (text: string) => NodeAddress,
): Setting<readonly NodeAddress[]> {
  if (texts.length <= MAX_NODES) return { value: texts.map(read), source };
  throw new FlywheelError('ERR_CONFIG_INVALID', `At most ${MAX_NODES} RPC nodes are allowed.`);
}

/** The address that the Solana CLI uses, as the last resort. @throws `ERR_CONFIG_INVALID` */
export function solanaRpc(home: string): Setting<readonly NodeAddress[]> {
  const text = solanaCliSetting(home, 'json_rpc_url');
  if (text === undefined) return NONE;
  return addresses([text], 'solana config', (url) =>
    solanaCliAddress(url, `json_rpc_url in ~/${SOLANA_CONFIG_FILE}`),
  );
}

/** The nodes that the environment names, or `null`. @throws `ERR_CONFIG_INVALID` */
function environmentNodes(env: Places['env']): Settings['rpcUrl'] | null {
  const variable = words(env['FLYWHEEL_RPC_URL']);
  if (variable.length === 0) return null;
  return addresses(variable, 'environment', (text) => nodeAddress(text, 'FLYWHEEL_RPC_URL'));
}

function findNodes(home: string, { flags, env, profile }: RpcPlaces): Settings['rpcUrl'] {
  const typed = [flags.rpcUrl ?? []].flat().map(String);
  const stored = rpcUrlsOf(profile);
  if (typed.length > 0) return addresses(typed, 'flag', (text) => nodeAddress(text, '--rpc-url'));
  const variable = environmentNodes(env);
  if (variable !== null) return variable;
  if (stored.length > 0)
    return addresses(stored, 'profile', (text) => nodeAddress(text, 'rpcUrl of the profile'));
  return solanaRpc(home);
}

/** What is wrong with the nodes or the quorum of the environment. */
function environmentProblem(env: Places['env']): FlywheelError | null {
  try {
    environmentNodes(env);
    setting('rpcQuorum', { env, flags: {}, profile: {} });
    return null;
  } catch (error) {
    if (isFlywheelError(error)) return error;
    throw error;
  }
}

/**
 * Nodes and quorum. Without a remote API a flywheel may need none, so what is wrong with those kept elsewhere is no concern then.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming where the value came from, and never the address.
 */
function resolveRpc(
  home: string,
  places: RpcPlaces,
  isRemote: boolean,
): Pick<Settings, 'rpcUrl' | 'rpcQuorum' | 'rpcProblem'> {
  const isTyped = places.flags.rpcUrl !== undefined || places.flags.rpcQuorum !== undefined;
  try {
    const rpcQuorum = setting('rpcQuorum', places);
    return { rpcUrl: findNodes(home, places), rpcQuorum, rpcProblem: null };
  } catch (error) {
    if (isRemote || isTyped) throw error;
    const rpcProblem = environmentProblem(places.env);
    return { rpcUrl: NONE, rpcQuorum: { value: 1, source: 'default' }, rpcProblem };
  }
}

function resolveOne(
  context: CliContext,
  places: Places,
  name: 'operatorSigner' | 'burnSigner',
  variable: (typeof SETTINGS_TABLE.signerKeypairs.variables)[number],
): Setting<KeyKeeper | null> {
  const found = findSetting(name, places);
  const keypair = places.env[variable];
  if (found?.source !== 'flag' && keypair !== undefined && keypair !== '') {
    if (found?.source === 'environment')
      throw new FlywheelError('ERR_CONFIG_INVALID', `${found.where} and ${variable} cannot be combined.`);
    const load = () => loadKey(context, keypair, variable);
    return { value: { where: variable, load }, source: 'environment' };
  }
  if (found === undefined) return { value: null, source: 'default' };
  return { value: { where: found.where, command: found.text }, source: found.source };
}

/** @throws `ERR_KEYPAIR_INVALID` naming the variable or the file, and never its content. */
async function loadKey(context: CliContext, text: string, variable: string): Promise<KeypairSigner> {
  const { loadKeypair } = await import('../wallet/load-keypair.js');
  return loadKeypair(context, fromEnvironment(text), variable);
}

/** @throws `ERR_CONFIG_INVALID` where the environment names two keepers of one key. */
const resolveSigners = (context: CliContext, places: Places): SignerSettings => ({
  operator: resolveOne(context, places, 'operatorSigner', 'FLYWHEEL_OPERATOR_KEYPAIR'),
  burnWallet: resolveOne(context, places, 'burnSigner', 'FLYWHEEL_BURN_KEYPAIR'),
});

/**
 * The base address of an API, without a trailing slash.
 * @throws `ERR_CONFIG_INVALID` unless it is http(s) without credentials, query and fragment.
 */
function checkApiUrl(text: string, where: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${where} must be an http or https address, got ${JSON.stringify(text)}.`,
    );
  }
  // An empty query or fragment is still there in the text.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) {
    throw new FlywheelError(
      'ERR_CONFIG_INVALID',
      `${where} must not hold a user name, password, query or fragment.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

type ChosenProfile = Setting<string | null> & { readonly profile: Profile };

function chooseProfile(env: Places['env'], flags: GlobalFlags, dir: string): ChosenProfile {
  const file = readProfiles(dir);
  const named = setting('profile', { flags, env, profile: {} });
  const chosen: Setting<string | null> =
    named.value === null && file.current !== null ? { value: file.current, source: 'profile' } : named;
  if (chosen.value === null) return { ...chosen, profile: {} };
  const profile = Object.hasOwn(file.profiles, chosen.value) ? file.profiles[chosen.value] : undefined;
  if (profile === undefined) {
    // A variable may hold a key that was pasted into the wrong one.
    const message =
      chosen.source === 'environment'
        ? 'FLYWHEEL_PROFILE names a profile that does not exist.'
        : `No profile ${JSON.stringify(chosen.value)}.`;
    throw new FlywheelError('ERR_CONFIG_INVALID', message, {
      hint: 'List profiles: `flywheel profile list`',
    });
  }
  return { ...chosen, profile };
}

function resolveApiUrl(places: Places): Setting<string | null> {
  const { flags } = places;
  if (flags.local === true) {
    if (flags.apiUrl !== undefined)
      throw new FlywheelError('ERR_USAGE', '--local and --api-url cannot be combined.');
    return { value: null, source: 'flag' };
  }
  // Who names a data directory means the flywheel in it; a burn must not go to another one because of a setting kept elsewhere.
  const namesDirectory =
    flags.dataDir !== undefined && flags.apiUrl === undefined && flags.profile === undefined;
  if (namesDirectory) return { value: null, source: 'flag' };
  const found = findSetting('apiUrl', places);
  if (found === undefined) return { value: null, source: 'default' };
  return { value: checkApiUrl(found.text, found.where), source: found.source };
}

/** A profile's key goes to the profile's own API and nowhere else, wherever that API was named. */
function resolveApiKey(
  ambient: Pick<CliContext, 'env' | 'platform'>,
  { value: name, profile }: ChosenProfile,
  apiUrl: string | null,
  dir: string,
): Setting<Secret | null> {
  const environment = findSetting('apiKey', { flags: {}, env: ambient.env, profile: {} });
  if (environment !== undefined) return { value: new Secret(environment.text), source: 'environment' };
  const own = profile.apiUrl === undefined ? null : checkApiUrl(profile.apiUrl, 'the profile');
  if (name === null || apiUrl === null || apiUrl !== own) return { value: null, source: 'default' };
  const key = readProfileKey(dir, name, ambient.platform);
  return key === null ? { value: null, source: 'default' } : { value: key, source: 'profile' };
}

/** Pins of a file stand in for those of the profile; its limits hold beside them, so that no file takes a limit away. */
function resolvePins(
  cwd: string,
  file: string | undefined,
  { pinned, limits }: Profile,
): Pick<Settings, 'pinned' | 'limits'> {
  const own: readonly LimitSetting[] = limits === undefined ? [] : [{ value: limits, source: 'profile' }];
  if (file !== undefined) {
    const given = readPinsFile(resolvePath(cwd, file));
    return {
      pinned: { value: given.pinned, source: 'flag' },
      limits: given.limits === null ? own : [...own, { value: given.limits, source: 'flag' }],
    };
  }
  return {
    pinned: pinned === undefined ? { value: null, source: 'default' } : { value: pinned, source: 'profile' },
    limits: own,
  };
}

function resolveKeypair(places: Places): Settings['keypair'] {
  const found = findSetting('keypair', places);
  if (found === undefined) return { value: null, source: 'default' };
  const { text: given, source } = found;
  return { value: source === 'environment' ? fromEnvironment(given) : given, source };
}

/**
 * All settings of a run.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming the value and where it came from.
 */
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
    throw new FlywheelError('ERR_CONFIG_INVALID', `${JSON.stringify(headerName)} is not a header name.`);
  return {
    output: outputMode(flags, io.stdout.isTTY),
    messages: messageForm(flags),
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    debug: !['', '0'].includes(env['FLYWHEEL_DEBUG'] ?? ''),
    noInput: flags.input === false,
    yes: flags.yes === true,
    profile: chosen,
    apiUrl,
    apiKeyHeader: { ...header, value: headerName.toLowerCase() },
    // Read where it is used: what is wrong with its file, `doctor` has to be able to say and to mend.
    get apiKey() {
      return resolveApiKey(context, found, apiUrl.value, config.value);
    },
    configDir: config,
    dataDir: { ...dataDir, value: resolvePath(cwd, dataDir.value ?? defaultDataDir(context)) },
    ...resolveDatabase(context, places, isRemote),
    ...resolveRpc(context.home, places, isRemote),
    maxPriorityFee: setting('maxPriorityFee', places),
    commitment: setting('commitment', places),
    timeoutSeconds: setting('timeoutSeconds', places),
    waitSeconds: setting('waitSeconds', places),
    maxWaitSeconds: setting('maxWaitSeconds', places),
    keypair: resolveKeypair(places),
    signers: resolveSigners(context, places),
    ...resolvePins(cwd, findSetting('pins', places)?.text, profile),
  };
}

const READS_DIRECTORY = /^flywheel (?:audit|db|keys|register|vault)\b/;

/** Their names say where they work: only an API that is named on the command line contradicts that. */
const LOCAL = /^flywheel (?:local|serve)\b/;

/**
 * @param path - the words that lead to the command.
 * @throws `ERR_USAGE`
 */
export function requireDataDirectory(path: string, { apiUrl, profile }: Settings): void {
  if (apiUrl.value === null) return;
  const isProfile = apiUrl.source === 'profile';
  const isTyped = (isProfile ? profile.source : apiUrl.source) === 'flag';
  if (!READS_DIRECTORY.test(path) && !(isTyped && LOCAL.test(path))) return;
  const remote = isProfile ? `profile ${profile.value}` : apiUrl.value;
  throw new FlywheelError('ERR_USAGE', `\`${path}\` reads a data directory, but ${remote} is a remote API.`, {
    hint: 'Add --local to use the data directory of this machine.',
  });
}
