/** Flag > environment > profile > default: every global option with its source. */
import { resolve as resolvePath } from 'node:path';
import type { LimitSetting, Setting, Settings } from '../../compose/settings.js';
import { API_KEY_HEADER } from '../../contract/headers.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { Secret } from '../../values/secret.js';
import type { CliContext } from '../context.js';
import { fromEnvironment } from '../wallet/keypair-source.js';
import { findSetting, type Places, setting } from './find-setting.js';
import { messageForm, outputMode } from './output-mode.js';
import { configDir, defaultDataDir } from './paths.js';
import { type Profile, readPinsFile, readProfileKey, readProfiles } from './profile-file.js';
import { resolveDatabase } from './resolve-database.js';
import { resolveRpc } from './resolve-rpc.js';
import { resolveSigners } from './resolve-signers.js';

/** Global options as the parser leaves them. */
export interface GlobalFlags {
  readonly json?: boolean;
  readonly output?: string;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly input?: boolean;
  readonly yes?: boolean;
  readonly color?: boolean;
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
    ...resolvePins(cwd, flags.pins, profile),
  };
}
