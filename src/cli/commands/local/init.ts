/** `flywheel local init`: registration in one step and without questions. */
import { resolve } from 'node:path';
import type { TokenGeneration, TokenProgramName } from '../../../contract/admin.js';
import { FlywheelError, isFlywheelError } from '../../../errors/flywheel-error.js';
import { parseTokenAmount } from '../../../values/token-amount.js';
import { type CommandSpec, type Invocation, inSteps, type Session } from '../../command.js';
import type { LocalInitInput } from '../../context.js';
import { readInputBytes } from '../../files/read-input.js';
import { decimalOption, integerOption, proofTypes } from '../../options/amounts.js';
import { parseScopes, SCOPE_OPTION } from '../../options/scopes.js';
import { viewLocalInit } from '../../views/local.js';
import { typedPath } from '../../wallet/keypair-source.js';

const SOL_DECIMALS = 9;
const DEFAULT_PROOF_TYPES = ['PRODUCT_BUY', 'WATCH_AD'];
/** What `local init` gives unless told otherwise. */
const DEFAULTS = {
  name: 'Flywheel',
  symbol: 'FLY',
  supply: '1000000000',
  vaultTokens: '1000000',
  vaultSol: '10',
  burnWalletTokens: '1000000',
  burnWalletSol: '10',
} as const;

async function parse(invocation: Invocation, session: Session): Promise<LocalInitInput> {
  const types = proofTypes(invocation);
  const amount = <Fallback>(name: string, flag: string, fallback: Fallback) =>
    decimalOption(invocation, name, flag, fallback);
  return {
    name: invocation.option('name') ?? DEFAULTS.name,
    symbol: invocation.option('symbol') ?? DEFAULTS.symbol,
    decimals: integerOption(invocation, 'decimals', '--decimals', { least: 0, most: 18, fallback: 6 }),
    supply: amount('supply', '--supply', DEFAULTS.supply),
    tokenProgram: (invocation.option('tokenProgram') ?? 'token') as TokenProgramName,
    tokenGeneration: (invocation.option('tokenGeneration') ?? 'v1') as TokenGeneration,
    vaultTokens: amount('vaultTokens', '--vault-tokens', DEFAULTS.vaultTokens),
    vaultSol: amount('vaultSol', '--vault-sol', DEFAULTS.vaultSol),
    burnWalletTokens: amount('burnWalletTokens', '--burn-wallet-tokens', DEFAULTS.burnWalletTokens),
    burnWalletSol: amount('burnWalletSol', '--burn-wallet-sol', DEFAULTS.burnWalletSol),
    proofTypes: types.length === 0 ? DEFAULT_PROOF_TYPES : types,
    scopes: parseScopes(invocation),
    dailyBurn: amount('dailyBurn', '--daily-burn', null),
    dailyAirdrop: amount('dailyAirdrop', '--daily-airdrop', null),
    minOperatorSol: lamportsOption(invocation, 'minOperatorSol', '--min-operator-sol'),
    maxBatchRent: lamportsOption(invocation, 'maxBatchRent', '--max-batch-rent'),
    owner: await existingOwner(session, invocation.option('ownerKeypair')),
    squadsProgram: await programFile(session, invocation.option('squadsProgram')),
  };
}

function lamportsOption(invocation: Invocation, name: string, flag: string): bigint | undefined {
  const text = decimalOption(invocation, name, flag, undefined);
  if (text === undefined) return undefined;
  if (Number(text) === 0) return 0n;
  try {
    return parseTokenAmount(text, SOL_DECIMALS);
  } catch (cause) {
    if (!isFlywheelError(cause)) throw cause;
    throw new FlywheelError('ERR_INPUT_INVALID', `${flag}: ${cause.message}`, { cause });
  }
}

async function existingOwner(
  { context }: Session,
  file: string | undefined,
): Promise<LocalInitInput['owner']> {
  if (file === undefined) return null;
  const { keypairPath, loadKeypair } = await import('../../wallet/load-keypair.js');
  const { address } = await loadKeypair(context, typedPath(file, '--owner-keypair'));
  return { address, keypair: keypairPath(context, file) };
}

/** The path, absolute; that it can be read is made sure of here, its checksum where it is loaded. */
async function programFile({ context }: Session, file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  await readInputBytes(context, file);
  return resolve(context.cwd, file);
}

export const command: CommandSpec = {
  options: [
    { flags: '--name <text>', description: `name of the token (default: ${DEFAULTS.name})` },
    { flags: '--symbol <text>', description: `symbol of the token (default: ${DEFAULTS.symbol})` },
    { flags: '--decimals <n>', description: 'decimals of the mint (default: 6)' },
    { flags: '--supply <n>', description: `tokens minted, once (default: ${DEFAULTS.supply})` },
    {
      flags: '--token-program <name>',
      description: 'program of the mint (default: token)',
      choices: ['token', 'token-2022'],
    },
    {
      flags: '--token-generation <name>',
      description: 'v1 has the burn operations (default: v1)',
      choices: ['v1', 'v2'],
    },
    { flags: '--vault-tokens <n>', description: `tokens for the vault (default: ${DEFAULTS.vaultTokens})` },
    { flags: '--vault-sol <n>', description: `SOL for the vault (default: ${DEFAULTS.vaultSol})` },
    {
      flags: '--burn-wallet-tokens <n>',
      description: `tokens for the burn wallet (default: ${DEFAULTS.burnWalletTokens})`,
    },
    {
      flags: '--burn-wallet-sol <n>',
      description: `SOL for the burn wallet (default: ${DEFAULTS.burnWalletSol})`,
    },
    {
      flags: '--owner-keypair <file>',
      description: 'keypair file of the owner (default: a new one in the data directory)',
    },
    {
      flags: '--proof-type <type>',
      description: `a proof type; repeat for several (default: ${DEFAULT_PROOF_TYPES.join(' and ')})`,
      repeats: true,
    },
    SCOPE_OPTION,
    { flags: '--daily-burn <n>', description: 'tokens that may be burned in a UTC day (default: no cap)' },
    {
      flags: '--daily-airdrop <n>',
      description: 'tokens that may be airdropped in a UTC day (default: no cap)',
    },
    {
      flags: '--min-operator-sol <n>',
      description: 'SOL that `batch init` leaves the operator with at least (default: 0.1)',
    },
    {
      flags: '--max-batch-rent <n>',
      description: 'SOL of rent that all waiting batches may take together (default: 5)',
    },
    { flags: '--squads-program <file>', description: 'program file to run instead of the native Squads' },
  ],
  output: [
    '{ "tokenId", "mintAddress", "decimals", "tokenProgram", "flywheelId", "multisig", "vaultIndex", "vaultAddress",',
    '  "burnWallet", "owner": { "address", "keypair" }, "operator", "apiKey": { "id", "key", "scopes" },',
    '  "proofTypes", "dailyLimits": { "burn", "airdrop" } }',
  ],
  errors: ['ERR_LOCAL_ALREADY_EXISTS', 'ERR_INPUT_INVALID', 'ERR_KEYPAIR_INVALID', 'ERR_STORE_UNAVAILABLE'],
  examples: [
    'flywheel local init',
    'flywheel local init --name "My Token" --symbol MY --decimals 9 --daily-burn 5000 --owner-keypair ~/.config/solana/id.json',
  ],
  run: inSteps({
    parse,
    run: async (session, input) => (await session.desk()).init(input),
    view: viewLocalInit,
  }),
};
