/** The settings of all commands: option, variable, profile field, parser and help of each; and the global options made from them. */
import { isAbsolute, join, resolve } from 'node:path';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import {
  type Commitment,
  DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  MAX_PRIORITY_FEE_LAMPORTS,
} from '../../chain/chain.js';
import type { Setting } from '../../compose/settings.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS, REQUEST_TIMEOUT_MS } from '../../contract/limits.js';
import { usageError } from '../../errors/flywheel-error.js';
import { isProjectName, PROJECT_NAME_RULE } from '../../values/text.js';
import type { CliContext } from '../context.js';
import { collect } from '../options.js';
import { OUTPUT_MODES } from '../output/color.js';
import { type Use, usesOf } from './command-uses.js';
import type { GlobalFlags } from './resolve.js';

export interface Reading<Value> {
  /** Completes "takes …". */
  readonly takes: string;
  readonly fallback: Value;
  /** @returns `undefined` for an invalid text */
  read(text: string): Value | undefined;
}

const wholeNumber = (what: string, least: number, most: number, fallback: number): Reading<number> => ({
  ...{ takes: `${what} from ${least} to ${most}`, fallback },
  read: (text) =>
    /^\d{1,8}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
});

const MOST_SECONDS = 86_400;

const seconds = (fallback: number): Reading<number> => ({
  ...{ takes: `seconds from 0 to ${MOST_SECONDS}`, fallback },
  read: (text) =>
    /^[0-9]+(\.[0-9]+)?$/.test(text) && Number(text) <= MOST_SECONDS ? Number(text) : undefined,
});

const COMMITMENT: Reading<Commitment> = {
  ...{ takes: '"confirmed" or "finalized"', fallback: 'confirmed' },
  read: (text) => (text === 'confirmed' || text === 'finalized' ? text : undefined),
};

const PROJECT: Reading<string | null> = {
  ...{ takes: PROJECT_NAME_RULE, fallback: null },
  read: (text) => (isProjectName(text) ? text : undefined),
};

export const MAX_NODES = 16;

const PRIORITY_FEE = wholeNumber(
  'lamports a transaction',
  0,
  Number(MAX_PRIORITY_FEE_LAMPORTS),
  Number(DEFAULT_MAX_PRIORITY_FEE_LAMPORTS),
);

interface SettingRow {
  readonly use: Use;
  readonly flags?: string | undefined;
  /** Environment variables; settings are read from the first one only. */
  readonly variables: readonly string[];
  /** A profile may have it, under its name here. */
  readonly isInProfile: boolean;
  readonly help: string;
  readonly choices?: readonly string[];
  readonly isList?: true;
  /** @default any text, `null` if not set */
  readonly reading?: Reading<unknown>;
}

/** @param from - in short: `--option <value>`, `VARIABLE`, `profile` */
const row = <More extends Partial<Pick<SettingRow, 'choices' | 'isList' | 'reading'>>>(
  use: Use,
  from: readonly string[],
  help: string,
  more?: More,
) => ({
  ...{ use, help, flags: from.find((word) => word.startsWith('-')) },
  ...{ variables: from.filter((word) => /^[A-Z]/.test(word)), isInProfile: from.includes('profile') },
  ...(more as More),
});

/** In the order of help (contract, section 2.2). */
const SETTINGS_TABLE = {
  json: row('output', ['--json'], 'print JSON, on standard error too'),
  output: row('output', ['--output <mode>'], 'output format (default: human on a terminal, else json)', {
    choices: OUTPUT_MODES,
  }),
  quiet: row('output', ['-q, --quiet'], 'no notices and no progress on standard error'),
  verbose: row('output', ['-v, --verbose'], 'verbose output on standard error'),
  color: row('output', ['--no-color', 'NO_COLOR'], 'do not use colour'),
  forceColor: row('output', ['FORCE_COLOR', 'CLICOLOR_FORCE'], 'use colour without a terminal'),
  input: row('output', ['--no-input'], 'do not prompt'),
  yes: row('output', ['--yes'], 'assume yes for every question'),
  debug: row('output', ['FLYWHEEL_DEBUG'], '1 prints stack traces with errors'),
  profile: row('service', ['-p, --profile <name>', 'FLYWHEEL_PROFILE'], 'use this profile'),
  local: row('service', ['--local'], 'use the embedded engine even if an API is configured'),
  apiUrl: row('service', ['--api-url <url>', 'FLYWHEEL_API_URL', 'profile'], 'use the API at this address'),
  apiKeyHeader: row('service', ['--api-key-header <name>', 'profile'], 'HTTP header for the API key'),
  apiKey: row('service', ['FLYWHEEL_API_KEY'], 'API key; overrides the profile and the data directory'),
  configDir: row('service', ['FLYWHEEL_CONFIG_DIR'], 'directory of profiles and their keys'),
  dataDir: row(
    'service',
    ['--data-dir <dir>', 'FLYWHEEL_DATA_DIR', 'profile'],
    'directory of the embedded engine',
  ),
  databaseUrlFile: row(
    'service',
    ['--database-url-file <file>', 'FLYWHEEL_DATABASE_URL_FILE', 'profile'],
    'file with the PostgreSQL address',
  ),
  databaseUrl: row(
    'service',
    ['FLYWHEEL_DATABASE_URL', 'profile'],
    'PostgreSQL address: postgres://user:password@host/name',
  ),
  databasePool: row('service', ['FLYWHEEL_DATABASE_POOL'], 'maximum connections per process, 4 or more', {
    // One for reads, one for writes, one for sequence numbers, one for rate limits.
    reading: wholeNumber('connections', 4, 1_000, 10),
  }),
  project: row('service', ['--project <name>', 'FLYWHEEL_PROJECT', 'profile'], 'project to use', {
    reading: PROJECT,
  }),
  metricsToken: row('service', ['FLYWHEEL_METRICS_TOKEN'], 'bearer token for /metrics from other machines'),
  timeoutSeconds: row('request', ['--timeout <seconds>'], 'time limit of one attempt', {
    reading: seconds(REQUEST_TIMEOUT_MS / 1_000),
  }),
  waitSeconds: row(
    'request',
    ['--wait <seconds>'],
    'time limit of a request, retries included; also of --watch',
    { reading: seconds(DEFAULT_WAIT_SECONDS) },
  ),
  maxWaitSeconds: row('request', ['--max-wait <seconds>'], 'time limit of all waits between attempts', {
    reading: seconds(DEFAULT_MAX_WAIT_SECONDS),
  }),
  proxy: row(
    'request',
    ['HTTPS_PROXY', 'NO_PROXY'],
    'proxy for https: http://[user:password@]host:port; NO_PROXY: hosts that bypass it',
  ),
  authorities: row(
    'request',
    ['NODE_EXTRA_CA_CERTS'],
    'PEM file of additional trusted certificate authorities',
  ),
  rpcUrl: row(
    'chain',
    ['--rpc-url <url>', 'FLYWHEEL_RPC_URL', 'profile'],
    'RPC node: a URL, mainnet, devnet, testnet or localhost (repeatable)',
    { isList: true },
  ),
  rpcQuorum: row(
    'chain',
    ['--quorum <n>', 'FLYWHEEL_RPC_QUORUM', 'profile'],
    'number of RPC nodes that must agree',
    { reading: wholeNumber('a number of nodes', 1, MAX_NODES, 1) },
  ),
  operatorSigner: row(
    'chain',
    ['--operator-signer <command>', 'FLYWHEEL_OPERATOR_SIGNER', 'profile'],
    'program that signs for the operator (embedded engine)',
  ),
  burnSigner: row(
    'chain',
    ['--burn-signer <command>', 'FLYWHEEL_BURN_SIGNER', 'profile'],
    'program that signs for the burn wallet (embedded engine)',
  ),
  signerKeypairs: row(
    'chain',
    ['FLYWHEEL_OPERATOR_KEYPAIR', 'FLYWHEEL_BURN_KEYPAIR'],
    'keypair of the operator, or of the burn wallet, in place of a signing program: a file or the key itself',
  ),
  maxPriorityFee: row(
    'chain',
    ['--max-priority-fee <lamports>', 'FLYWHEEL_MAX_PRIORITY_FEE', 'profile'],
    'highest priority fee of a transaction in lamports',
    { reading: PRIORITY_FEE },
  ),
  commitment: row(
    'chain',
    ['--commitment <level>', 'FLYWHEEL_COMMITMENT', 'profile'],
    'commitment level: confirmed or finalized',
    { reading: COMMITMENT },
  ),
  pins: row('approval', ['--pins <file>'], 'check approvals against these pins (from `profile pin --out`)'),
  keypair: row(
    'approval',
    ['FLYWHEEL_KEYPAIR', 'profile'],
    "the owner's keypair: a file, or the key itself in the environment; --keypair overrides it",
  ),
};

export type SettingName = keyof typeof SETTINGS_TABLE;

export type ValueOf<Name extends SettingName> = (typeof SETTINGS_TABLE)[Name] extends {
  readonly reading: Reading<infer Value>;
}
  ? Value
  : string | null;

export const SETTING_ROWS: Readonly<Record<SettingName, SettingRow>> = SETTINGS_TABLE;

const ROWS = Object.values(SETTING_ROWS);

/** Hidden in each command's help: `flywheel help settings` lists them. */
export function addGlobalOptions(program: CommandUnknownOpts): void {
  for (const { flags, help, choices, isList } of ROWS) {
    if (flags === undefined) continue;
    const option = new Option(flags, help).hideHelp();
    if (choices !== undefined) option.choices(choices);
    if (isList === true) option.argParser(collect as (value: string, previous: unknown) => string[]);
    program.addOption(option);
  }
}

export const globalFlags = (program: CommandUnknownOpts): GlobalFlags =>
  Object.fromEntries(
    Object.entries(SETTING_ROWS).flatMap(([name, { flags }]) =>
      flags === undefined ? [] : [[name, program.getOptionValue(new Option(flags).attributeName())]],
    ),
  );

const USES: ReadonlyMap<string | undefined, Use> = new Map(ROWS.map(({ flags, use }) => [flags, use]));

/** @param path - the command, such as `flywheel keys list` */
export function hasEffect({ flags }: Option, path: string): boolean {
  const use = USES.get(flags) ?? 'output';
  return use === 'output' || usesOf(path.split(' ').slice(1)).includes(use);
}

/**
 * Refuses global options that would have no effect. @param path - the command, such as `flywheel keys list`
 * @throws `ERR_USAGE`, naming the option
 */
export function requireUse(program: CommandUnknownOpts, path: string): void {
  for (const option of program.options) {
    if (hasEffect(option, path) || program.getOptionValueSource(option.attributeName()) !== 'cli') continue;
    throw usageError(`\`${path}\` does not accept ${option.long}.`, 'See `flywheel help settings`.');
  }
}

/** Where the directories of configuration and data are looked for. */
type Place = Pick<CliContext, 'env' | 'home' | 'cwd' | 'platform'>;

const baseDir = (place: Place, xdg: string, windows: string, unix: string): string => {
  const given = place.env[xdg];
  if (given !== undefined && isAbsolute(given)) return given;
  if (place.platform === 'win32') return place.env[windows] ?? join(place.home, 'AppData', 'Roaming');
  return join(place.home, unix);
};

export function configDir(place: Place): Setting<string> {
  const given = place.env['FLYWHEEL_CONFIG_DIR'];
  if (given !== undefined && given !== '') return { value: resolve(place.cwd, given), source: 'environment' };
  return {
    value: join(baseDir(place, 'XDG_CONFIG_HOME', 'APPDATA', '.config'), 'flywheel'),
    source: 'default',
  };
}

export const defaultDataDir = (place: Place): string =>
  join(baseDir(place, 'XDG_DATA_HOME', 'LOCALAPPDATA', join('.local', 'share')), 'flywheel');
