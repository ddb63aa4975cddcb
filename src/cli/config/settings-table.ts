/** The settings that hold for all commands: how each is named as an option, in the environment and in a profile, and what it does. */
import { OUTPUT_MODES } from './output-mode.js';

/** What a command has to do for a setting to have an effect on it. */
export type Use =
  /** Nothing: it prints. */
  | 'output'
  /** Works with a service, here or elsewhere, or with what was kept of it. */
  | 'service'
  /** Asks a service, and waits for its answers. */
  | 'request'
  /** Reads or sends to a chain. */
  | 'chain'
  /** Holds a batch against the flywheel that is trusted. */
  | 'approval';

/** One setting. */
export interface SettingRow {
  /** As commander takes it; without one it is not an option. */
  readonly flags?: string;
  /** Variables that hold it. */
  readonly variables?: readonly string[];
  /** Its name in a profile. */
  readonly profile?: string;
  readonly help: string;
  readonly use: Use;
  /** All values there are. */
  readonly choices?: readonly string[];
  /** May it be given several times? */
  readonly isList?: true;
}

const option = (
  flags: string,
  use: Use,
  help: string,
  more: Omit<SettingRow, 'flags' | 'use' | 'help'> = {},
) => ({ flags, use, help, ...more }) satisfies SettingRow;

/** Every setting, in the order in which help lists them (contract, section 2.2). */
export const SETTINGS_TABLE = [
  option('--json', 'output', 'print JSON, also what is said on standard error'),
  option('--output <mode>', 'output', 'what to print: human on a terminal, else json', {
    choices: OUTPUT_MODES,
  }),
  option('-q, --quiet', 'output', 'no notices and no progress on standard error'),
  option('-v, --verbose', 'output', 'say more on standard error'),
  option('--no-color', 'output', 'no colour', { variables: ['NO_COLOR'] }),
  option('--no-input', 'output', 'never ask'),
  option('--yes', 'output', 'answer every question with yes'),
  option('-p, --profile <name>', 'service', 'use this profile', { variables: ['FLYWHEEL_PROFILE'] }),
  option('--local', 'service', 'use the embedded engine even if an API is configured'),
  option('--api-url <url>', 'service', 'use the API at this address', {
    ...{ variables: ['FLYWHEEL_API_URL'], profile: 'apiUrl' },
  }),
  option('--api-key-header <name>', 'service', 'header that carries the API key', {
    profile: 'apiKeyHeader',
  }),
  {
    ...{ use: 'service', variables: ['FLYWHEEL_API_KEY'] },
    help: 'the API key; wins over the one of the profile and of the data directory',
  },
  option('--data-dir <dir>', 'service', 'where the embedded engine keeps its state', {
    ...{ variables: ['FLYWHEEL_DATA_DIR'], profile: 'dataDir' },
  }),
  {
    ...{ use: 'service', variables: ['FLYWHEEL_CONFIG_DIR'] },
    help: 'where profiles and their keys are kept',
  },
  option(
    '--database-url-file <file>',
    'service',
    'file with the address of the PostgreSQL database that holds the flywheels',
    { variables: ['FLYWHEEL_DATABASE_URL_FILE'], profile: 'databaseUrlFile' },
  ),
  {
    ...{ use: 'service', variables: ['FLYWHEEL_DATABASE_URL', 'DATABASE_URL'], profile: 'databaseUrl' },
    help: 'that address itself: postgres://user:password@host/name',
  },
  {
    ...{ use: 'service', variables: ['FLYWHEEL_DATABASE_POOL'] },
    help: 'connections to it that a process takes at most, 4 or more (default: 10)',
  },
  option('--project <name>', 'service', 'which flywheel of the database', {
    ...{ variables: ['FLYWHEEL_PROJECT'], profile: 'project' },
  }),
  option('--timeout <seconds>', 'request', 'longest time for a request, or to wait with --watch'),
  option('--wait <seconds>', 'request', 'longest time for all tries and waits of a request (default: 600)'),
  option('--max-wait <seconds>', 'request', 'longest time to wait before further tries (default: 60)'),
  option(
    '--rpc-url <url>',
    'chain',
    'RPC node of your own, or mainnet, devnet, testnet, localhost; repeat it for several',
    {
      ...{ variables: ['FLYWHEEL_RPC_URL'], profile: 'rpcUrl', isList: true },
    },
  ),
  option('--quorum <n>', 'chain', 'how many of the RPC nodes have to agree (default: 1)', {
    ...{ variables: ['FLYWHEEL_RPC_QUORUM'], profile: 'rpcQuorum' },
  }),
  option(
    '--operator-signer <command>',
    'chain',
    'program that signs for the operator, of the embedded engine',
    { variables: ['FLYWHEEL_OPERATOR_SIGNER'], profile: 'operatorSigner' },
  ),
  option(
    '--burn-signer <command>',
    'chain',
    'program that signs for the burn wallet, of the embedded engine',
    { variables: ['FLYWHEEL_BURN_SIGNER'], profile: 'burnSigner' },
  ),
  {
    ...{ use: 'chain', variables: ['FLYWHEEL_OPERATOR_KEYPAIR', 'FLYWHEEL_BURN_KEYPAIR'] },
    help: 'their keypairs in place of programs: a file, or the key itself',
  },
  option(
    '--max-priority-fee <lamports>',
    'chain',
    'most that a transaction on a cluster pays beyond its signatures (default: 50000)',
    { variables: ['FLYWHEEL_MAX_PRIORITY_FEE'], profile: 'maxPriorityFee' },
  ),
  option(
    '--commitment <level>',
    'chain',
    'when it counts as landed: confirmed or finalized (default: confirmed)',
    { variables: ['FLYWHEEL_COMMITMENT'], profile: 'commitment' },
  ),
  option('--pins <file>', 'approval', 'hold approvals against this flywheel (from `profile pin --out`)'),
  {
    ...{ use: 'approval', variables: ['FLYWHEEL_KEYPAIR'], profile: 'keypair' },
    help: "the owner's keypair: a file, or in the environment the key itself; --keypair of a command wins",
  },
  {
    ...{ use: 'output', variables: ['FLYWHEEL_METRICS_TOKEN'] },
    help: 'bearer token that opens /metrics of `serve` to others than this machine',
  },
  { ...{ use: 'output', variables: ['FLYWHEEL_DEBUG'] }, help: '1 prints stack traces with errors' },
  {
    ...{ use: 'output', variables: ['FORCE_COLOR', 'CLICOLOR_FORCE'] },
    help: 'colour although it is not a terminal',
  },
  {
    ...{ use: 'request', variables: ['HTTPS_PROXY', 'NO_PROXY'] },
    help: 'proxy for the remote API: http://[user:password@]host:port, and hosts that need none',
  },
  {
    ...{ use: 'request', variables: ['NODE_EXTRA_CA_CERTS'] },
    help: 'file of authorities (PEM) that are trusted besides the built-in ones',
  },
] as const satisfies readonly SettingRow[];
