/** The settings of all commands: option, variable, profile field, parser and help of each; and the global options made from them. */
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import {
  type Commitment,
  DEFAULT_MAX_PRIORITY_FEE_LAMPORTS,
  MAX_PRIORITY_FEE_LAMPORTS,
} from '../../chain/chain.js';
import { DEFAULT_MAX_WAIT_SECONDS, DEFAULT_WAIT_SECONDS, REQUEST_TIMEOUT_MS } from '../../contract/limits.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { isProjectName, PROJECT_NAME_RULE } from '../../values/text.js';
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

/** At least 4: one for reads, one for writes, one for sequence numbers, one for rate limits. */
const POOL = wholeNumber('connections', 4, 1_000, 10);

export interface SettingRow {
  readonly use: Use;
  readonly flags?: string;
  /** Environment variables; settings are read from the first one only. */
  readonly variables?: readonly string[];
  readonly profile?: string;
  readonly help: string;
  readonly choices?: readonly string[];
  readonly isList?: true;
  /** @default any text, `null` if not set */
  readonly reading?: Reading<unknown>;
}

/** In the order of help (contract, section 2.2). */
const SETTINGS_TABLE = {
  json: { use: 'output', flags: '--json', help: 'print JSON, on standard error too' },
  output: {
    ...{ use: 'output', flags: '--output <mode>', choices: OUTPUT_MODES },
    help: 'output format (default: human on a terminal, else json)',
  },
  quiet: {
    ...{ use: 'output', flags: '-q, --quiet' },
    help: 'no notices and no progress on standard error',
  },
  verbose: { use: 'output', flags: '-v, --verbose', help: 'verbose output on standard error' },
  color: { use: 'output', flags: '--no-color', variables: ['NO_COLOR'], help: 'do not use colour' },
  forceColor: {
    ...{ use: 'output', variables: ['FORCE_COLOR', 'CLICOLOR_FORCE'] },
    help: 'use colour without a terminal',
  },
  input: { use: 'output', flags: '--no-input', help: 'do not prompt' },
  yes: { use: 'output', flags: '--yes', help: 'assume yes for every question' },
  debug: { use: 'output', variables: ['FLYWHEEL_DEBUG'], help: '1 prints stack traces with errors' },
  profile: {
    ...{ use: 'service', flags: '-p, --profile <name>', variables: ['FLYWHEEL_PROFILE'] },
    help: 'use this profile',
  },
  local: {
    ...{ use: 'service', flags: '--local' },
    help: 'use the embedded engine even if an API is configured',
  },
  apiUrl: {
    ...{ use: 'service', flags: '--api-url <url>', variables: ['FLYWHEEL_API_URL'], profile: 'apiUrl' },
    help: 'use the API at this address',
  },
  apiKeyHeader: {
    ...{ use: 'service', flags: '--api-key-header <name>', profile: 'apiKeyHeader' },
    help: 'HTTP header for the API key',
  },
  apiKey: {
    ...{ use: 'service', variables: ['FLYWHEEL_API_KEY'] },
    help: 'API key; overrides the profile and the data directory',
  },
  configDir: {
    ...{ use: 'service', variables: ['FLYWHEEL_CONFIG_DIR'] },
    help: 'directory of profiles and their keys',
  },
  dataDir: {
    ...{ use: 'service', flags: '--data-dir <dir>', variables: ['FLYWHEEL_DATA_DIR'], profile: 'dataDir' },
    help: 'directory of the embedded engine',
  },
  databaseUrlFile: {
    ...{ use: 'service', flags: '--database-url-file <file>', profile: 'databaseUrlFile' },
    variables: ['FLYWHEEL_DATABASE_URL_FILE'],
    help: 'file with the PostgreSQL address',
  },
  databaseUrl: {
    ...{ use: 'service', variables: ['FLYWHEEL_DATABASE_URL', 'DATABASE_URL'], profile: 'databaseUrl' },
    help: 'PostgreSQL address: postgres://user:password@host/name',
  },
  databasePool: {
    ...{ use: 'service', variables: ['FLYWHEEL_DATABASE_POOL'] },
    help: 'maximum connections per process, 4 or more',
    reading: POOL,
  },
  project: {
    ...{ use: 'service', flags: '--project <name>', variables: ['FLYWHEEL_PROJECT'], profile: 'project' },
    help: 'project to use',
    reading: PROJECT,
  },
  metricsToken: {
    ...{ use: 'service', variables: ['FLYWHEEL_METRICS_TOKEN'] },
    help: 'bearer token for /metrics from other machines',
  },
  timeoutSeconds: {
    ...{ use: 'request', flags: '--timeout <seconds>' },
    help: 'time limit of one attempt',
    reading: seconds(REQUEST_TIMEOUT_MS / 1_000),
  },
  waitSeconds: {
    ...{ use: 'request', flags: '--wait <seconds>' },
    help: 'total time limit of a request with its retries, and of --watch',
    reading: seconds(DEFAULT_WAIT_SECONDS),
  },
  maxWaitSeconds: {
    ...{ use: 'request', flags: '--max-wait <seconds>' },
    help: 'total time to wait between attempts',
    reading: seconds(DEFAULT_MAX_WAIT_SECONDS),
  },
  proxy: {
    ...{ use: 'request', variables: ['HTTPS_PROXY', 'NO_PROXY'] },
    help: 'proxy for https: http://[user:password@]host:port; NO_PROXY: hosts that bypass it',
  },
  authorities: {
    ...{ use: 'request', variables: ['NODE_EXTRA_CA_CERTS'] },
    help: 'PEM file of additional trusted certificate authorities',
  },
  rpcUrl: {
    ...{ use: 'chain', flags: '--rpc-url <url>', variables: ['FLYWHEEL_RPC_URL'], profile: 'rpcUrl' },
    isList: true,
    help: 'RPC node: a URL, mainnet, devnet, testnet or localhost (repeatable)',
  },
  rpcQuorum: {
    ...{ use: 'chain', flags: '--quorum <n>', variables: ['FLYWHEEL_RPC_QUORUM'], profile: 'rpcQuorum' },
    help: 'number of RPC nodes that must agree',
    reading: wholeNumber('a number of nodes', 1, MAX_NODES, 1),
  },
  operatorSigner: {
    ...{ use: 'chain', flags: '--operator-signer <command>', profile: 'operatorSigner' },
    variables: ['FLYWHEEL_OPERATOR_SIGNER'],
    help: 'program that signs for the operator (embedded engine)',
  },
  burnSigner: {
    ...{ use: 'chain', flags: '--burn-signer <command>', profile: 'burnSigner' },
    variables: ['FLYWHEEL_BURN_SIGNER'],
    help: 'program that signs for the burn wallet (embedded engine)',
  },
  signerKeypairs: {
    ...{ use: 'chain', variables: ['FLYWHEEL_OPERATOR_KEYPAIR', 'FLYWHEEL_BURN_KEYPAIR'] },
    help: 'operator and burn keypair instead of signing programs: a file, or the key itself',
  },
  maxPriorityFee: {
    ...{ use: 'chain', flags: '--max-priority-fee <lamports>', profile: 'maxPriorityFee' },
    variables: ['FLYWHEEL_MAX_PRIORITY_FEE'],
    help: 'highest priority fee of a transaction in lamports',
    reading: wholeNumber(
      'lamports a transaction',
      0,
      Number(MAX_PRIORITY_FEE_LAMPORTS),
      Number(DEFAULT_MAX_PRIORITY_FEE_LAMPORTS),
    ),
  },
  commitment: {
    ...{ use: 'chain', flags: '--commitment <level>', profile: 'commitment' },
    variables: ['FLYWHEEL_COMMITMENT'],
    help: 'commitment level: confirmed or finalized',
    reading: COMMITMENT,
  },
  pins: {
    ...{ use: 'approval', flags: '--pins <file>' },
    help: 'check approvals against these pins (from `profile pin --out`)',
  },
  keypair: {
    ...{ use: 'approval', variables: ['FLYWHEEL_KEYPAIR'], profile: 'keypair' },
    help: "the owner's keypair: a file, or the key itself in the environment; --keypair overrides it",
  },
} as const satisfies Readonly<Record<string, SettingRow>>;

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
    throw new FlywheelError('ERR_USAGE', `\`${path}\` does not accept ${option.long}.`, {
      hint: 'See `flywheel help settings`.',
    });
  }
}
