/** Flag > environment > profile > default: every global option with its source. */
import { resolve as resolvePath } from 'node:path';
import { API_KEY_HEADER } from '../../contract/headers.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS } from '../../contract/limits.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import type { Ambient } from '../context.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import { outputMode } from './output-mode.js';
import { configDir, defaultDataDir } from './paths.js';
import { type Profile, readPinsFile, readProfileKey, readProfiles } from './profile-file.js';
import { resolveDatabase } from './resolve-database.js';
import { requireQuorum, resolveRpc } from './resolve-rpc.js';
import { resolveSending } from './resolve-sending.js';
import { resolveSigners } from './resolve-signers.js';
import type { LimitSetting, Setting, Settings } from './settings.js';

/** Global options as the parser leaves them. */
export interface GlobalFlags {
  readonly json?: boolean;
  readonly output?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly input?: boolean;
  readonly yes?: boolean;
  readonly color?: boolean;
  readonly accessible?: boolean;
  readonly local?: boolean;
  readonly profile?: string;
  readonly apiUrl?: string;
  readonly apiKeyHeader?: string;
  readonly dataDir?: string;
  readonly databaseUrlFile?: string;
  readonly project?: string;
  readonly timeout?: string;
  readonly wait?: string;
  readonly maxWait?: string;
  readonly pins?: string;
  readonly rpcUrl?: readonly string[];
  readonly quorum?: string;
  readonly operatorSigner?: string;
  readonly burnSigner?: string;
  readonly maxPriorityFee?: string;
  readonly commitment?: string;
}

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

function pick<Default>(
  flag: string | undefined,
  environment: string | undefined,
  profile: string | undefined,
  fallback: Default,
): Setting<string | Default> {
  if (flag !== undefined) return { value: flag, source: 'flag' };
  if (environment !== undefined) return { value: environment, source: 'environment' };
  if (profile !== undefined) return { value: profile, source: 'profile' };
  return { value: fallback, source: 'default' };
}

function seconds<Default>(
  text: string | undefined,
  name: string,
  fallback: Default,
): Setting<number | Default> {
  if (text === undefined) return { value: fallback, source: 'default' };
  const value = Number(text);
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text) || !(value <= 86_400)) {
    throw new FlywheelError(
      'ERR_USAGE',
      `${name} takes seconds from 0 to 86400, got ${JSON.stringify(text)}.`,
    );
  }
  return { value, source: 'flag' };
}

/** Where a wrong value came from, for the message. */
const sourceName = (source: string, flag: string, variable: string): string =>
  source === 'flag' ? flag : source === 'environment' ? variable : 'The profile';

/**
 * The base address of an API, without a trailing slash.
 * @throws `ERR_CONFIG_INVALID` unless it is http(s) without credentials, query and fragment.
 */
export function checkApiUrl(text: string, where: string): string {
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

function chooseProfile(ambient: Ambient, flags: GlobalFlags, dir: string): ChosenProfile {
  const file = readProfiles(dir);
  const chosen = pick(
    flags.profile,
    filled(ambient.env['FLYWHEEL_PROFILE']),
    file.current ?? undefined,
    null,
  );
  if (chosen.value === null) return { ...chosen, profile: {} };
  const profile = Object.hasOwn(file.profiles, chosen.value) ? file.profiles[chosen.value] : undefined;
  if (profile === undefined) {
    // A variable may hold a key that was pasted into the wrong one.
    const message =
      chosen.source === 'environment'
        ? 'FLYWHEEL_PROFILE names a profile that does not exist.'
        : `There is no profile ${JSON.stringify(chosen.value)}.`;
    throw new FlywheelError('ERR_CONFIG_INVALID', message, {
      hint: '`flywheel profile list` shows those there are.',
    });
  }
  return { ...chosen, profile };
}

function resolveApiUrl(ambient: Ambient, flags: GlobalFlags, profile: Profile): Setting<string | null> {
  if (flags.local === true) {
    if (flags.apiUrl !== undefined)
      throw new FlywheelError('ERR_USAGE', '--local and --api-url exclude each other.');
    return { value: null, source: 'flag' };
  }
  // Who names a data directory means the flywheel in it; a burn must not go to another one because of a setting kept elsewhere.
  const namesDirectory =
    flags.dataDir !== undefined && flags.apiUrl === undefined && flags.profile === undefined;
  if (namesDirectory) return { value: null, source: 'flag' };
  const url = pick(flags.apiUrl, filled(ambient.env['FLYWHEEL_API_URL']), profile.apiUrl, null);
  if (url.value === null) return url;
  const where = sourceName(url.source, '--api-url', 'FLYWHEEL_API_URL');
  return { ...url, value: checkApiUrl(url.value, where) };
}

/** A profile's key goes to the profile's own API and nowhere else, wherever that API was named. */
function resolveApiKey(
  ambient: Ambient,
  { value: name, profile }: ChosenProfile,
  apiUrl: string | null,
  dir: string,
): Setting<Secret | null> {
  const environment = filled(ambient.env['FLYWHEEL_API_KEY']);
  if (environment !== undefined) return { value: new Secret(environment), source: 'environment' };
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

function resolveKeypair(environment: string | undefined, { keypair }: Profile): Settings['keypair'] {
  if (environment !== undefined) return { value: fromEnvironment(environment), source: 'environment' };
  return keypair === undefined ? { value: null, source: 'default' } : { value: keypair, source: 'profile' };
}

/**
 * All settings of a run.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming the value and where it came from.
 */
export function resolveSettings(ambient: Ambient, flags: GlobalFlags): Settings {
  const config = configDir(ambient);
  return settingsWith(ambient, flags, config, chooseProfile(ambient, flags, config.value));
}

/**
 * Holds a profile that is not stored yet to what every command would hold it to.
 * @throws `ERR_CONFIG_INVALID` or `ERR_USAGE` naming the value.
 */
export function checkProfile(ambient: Ambient, profile: Profile): void {
  const alone = { ...ambient, env: {} };
  const { rpcUrl, rpcQuorum, database } = settingsWith(alone, {}, configDir(ambient), {
    ...{ value: null, source: 'default', profile },
  });
  // A file may be there only where the profile is used.
  if (database.value?.file === null) database.value.reveal();
  requireQuorum(rpcUrl.value, rpcQuorum);
}

function settingsWith(
  ambient: Ambient,
  flags: GlobalFlags,
  config: Setting<string>,
  found: ChosenProfile,
): Settings {
  const { env, io, cwd } = ambient;
  const { profile, ...chosen } = found;
  const apiUrl = resolveApiUrl(ambient, flags, profile);
  const dataDir = pick(
    flags.dataDir,
    filled(env['FLYWHEEL_DATA_DIR']),
    profile.dataDir,
    defaultDataDir(ambient),
  );
  const header = pick(flags.apiKeyHeader, undefined, profile.apiKeyHeader, API_KEY_HEADER);
  if (!/^[A-Za-z0-9-]+$/.test(header.value))
    throw new FlywheelError('ERR_CONFIG_INVALID', `${JSON.stringify(header.value)} is not a header name.`);
  return {
    output: outputMode(flags, io.stdout.isTTY),
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    debug: filled(env['FLYWHEEL_DEBUG']) !== undefined && env['FLYWHEEL_DEBUG'] !== '0',
    noInput: flags.input === false,
    yes: flags.yes === true,
    profile: chosen,
    apiUrl,
    apiKeyHeader: { ...header, value: header.value.toLowerCase() },
    // Read where it is used: what is wrong with its file, `doctor` has to be able to say and to mend.
    get apiKey() {
      return resolveApiKey(ambient, found, apiUrl.value, config.value);
    },
    configDir: config,
    dataDir: { ...dataDir, value: resolvePath(cwd, dataDir.value) },
    ...resolveDatabase(ambient, flags, profile, apiUrl.value !== null),
    ...resolveRpc(ambient, flags, profile, apiUrl.value !== null),
    ...resolveSending(ambient, flags, profile),
    timeoutSeconds: seconds(flags.timeout, '--timeout', null),
    waitSeconds: seconds(flags.wait, '--wait', DEFAULT_WAIT_SECONDS),
    maxWaitSeconds: seconds(flags.maxWait, '--max-wait', DEFAULT_MAX_WAIT_SECONDS),
    keypair: resolveKeypair(filled(env['FLYWHEEL_KEYPAIR']), profile),
    signers: resolveSigners(ambient, flags, profile),
    ...resolvePins(cwd, flags.pins, profile),
  };
}
