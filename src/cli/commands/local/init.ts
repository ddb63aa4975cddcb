/** `flywheel local init`: registration in one step and without questions. */

import { resolve } from 'node:path';
import { type Command, Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import type { LocalInitInput } from '../../context.js';
import { readInputBytes } from '../../input/read-input.js';
import { collect, decimalOption, integerOption, lamportsOption, proofTypes } from '../../options/amounts.js';
import { SCOPE_OPTION, scopesOrAll } from '../../options/scopes.js';
import { viewLocalInit } from '../../views/local.js';
import { typedPath } from '../../wallet/keypair-source.js';

const DEFAULT_PROOF_TYPES = ['PRODUCT_BUY', 'WATCH_AD'];
/** What `local init` gives unless options say otherwise. */
const DEFAULTS = {
  name: 'Flywheel',
  symbol: 'FLY',
  supply: '1000000000',
  vaultTokens: '1000000',
  vaultSol: '10',
  burnWalletTokens: '1000000',
  burnWalletSol: '10',
} as const;

const configure = (command: Command) =>
  command
    .option('--name <text>', `name of the token (default: ${DEFAULTS.name})`)
    .option('--symbol <text>', `symbol of the token (default: ${DEFAULTS.symbol})`)
    .option('--decimals <n>', 'decimals of the mint (default: 6)')
    .option('--supply <n>', `tokens to mint (default: ${DEFAULTS.supply})`)
    .addOption(
      new Option('--token-program <name>', 'program of the mint (default: token)').choices([
        'token',
        'token-2022',
      ]),
    )
    .addOption(
      new Option('--token-generation <name>', 'only v1 has the burn operations (default: v1)').choices([
        'v1',
        'v2',
      ]),
    )
    .option('--vault-tokens <n>', `tokens for the vault (default: ${DEFAULTS.vaultTokens})`)
    .option('--vault-sol <n>', `SOL for the vault (default: ${DEFAULTS.vaultSol})`)
    .option('--burn-wallet-tokens <n>', `tokens for the burn wallet (default: ${DEFAULTS.burnWalletTokens})`)
    .option('--burn-wallet-sol <n>', `SOL for the burn wallet (default: ${DEFAULTS.burnWalletSol})`)
    .option('--owner-keypair <file>', 'keypair file of the owner (default: a new one in the data directory)')
    .option(
      '--proof-type <type>',
      `proof type (repeatable; default: ${DEFAULT_PROOF_TYPES.join(' and ')})`,
      collect,
    )
    .addOption(SCOPE_OPTION)
    .option('--daily-burn <n>', 'most tokens to burn per UTC day (default: no cap)')
    .option('--daily-airdrop <n>', 'most tokens to airdrop per UTC day (default: no cap)')
    .option('--min-operator-sol <n>', 'least SOL that `batch init` leaves the operator (default: 0.1)')
    .option('--max-batch-rent <n>', 'most rent in SOL of all waiting batches (default: 5)')
    .option('--squads-program <file>', 'Squads program file to run instead of the native implementation');

type Options = OptionsOf<typeof configure>;

async function parse(session: Session, options: Options): Promise<LocalInitInput> {
  const types = proofTypes(options.proofType);
  return {
    name: options.name ?? DEFAULTS.name,
    symbol: options.symbol ?? DEFAULTS.symbol,
    decimals: integerOption('--decimals', options.decimals, { least: 0, most: 18, fallback: 6 }),
    supply: decimalOption('--supply', options.supply, DEFAULTS.supply),
    tokenProgram: options.tokenProgram ?? 'token',
    tokenGeneration: options.tokenGeneration ?? 'v1',
    vaultTokens: decimalOption('--vault-tokens', options.vaultTokens, DEFAULTS.vaultTokens),
    vaultSol: decimalOption('--vault-sol', options.vaultSol, DEFAULTS.vaultSol),
    burnWalletTokens: decimalOption(
      '--burn-wallet-tokens',
      options.burnWalletTokens,
      DEFAULTS.burnWalletTokens,
    ),
    burnWalletSol: decimalOption('--burn-wallet-sol', options.burnWalletSol, DEFAULTS.burnWalletSol),
    proofTypes: types.length === 0 ? DEFAULT_PROOF_TYPES : types,
    scopes: scopesOrAll(options.scope),
    dailyBurn: decimalOption('--daily-burn', options.dailyBurn, null),
    dailyAirdrop: decimalOption('--daily-airdrop', options.dailyAirdrop, null),
    minOperatorSol: lamportsOption('--min-operator-sol', options.minOperatorSol),
    maxBatchRent: lamportsOption('--max-batch-rent', options.maxBatchRent),
    owner: await existingOwner(session, options.ownerKeypair),
    squadsProgram: await programFile(session, options.squadsProgram),
  };
}

async function existingOwner(
  { context }: Session,
  file: string | undefined,
): Promise<LocalInitInput['owner']> {
  if (file === undefined) return null;
  const [{ loadKeypair }, { keypairPath }] = await Promise.all([
    import('../../wallet/load-keypair.js'),
    import('../../wallet/read-private-file.js'),
  ]);
  const { address } = await loadKeypair(context, typedPath(file, '--owner-keypair'));
  return { address, keypair: keypairPath(context, file) };
}

/** The path, absolute; that it can be read is made sure of here, its checksum where it is loaded. */
async function programFile({ context }: Session, file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  await readInputBytes(context, file);
  return resolve(context.cwd, file);
}

export const command = defineCommand({
  configure,
  run: async (session, _args, options) => {
    const input = await parse(session, options);
    const made = await (await session.local()).init(input);
    session.output.result(made, (style) => viewLocalInit(made, session.settings, style));
    return undefined;
  },
  uses: ['service'],
  output: [
    '{ "tokenId", "mintAddress", "decimals", "tokenProgram", "flywheelId", "multisig", "vaultIndex", "vaultAddress",',
    '  "burnWallet", "owner": { "address", "keypair" }, "operator", "apiKey": { "id", "key", "scopes" },',
    '  "proofTypes", "dailyLimits": { "burn", "airdrop" } }',
  ],
  examples: [
    'flywheel local init',
    'flywheel local init --name "My Token" --symbol MY --decimals 9 --daily-burn 5000 --owner-keypair ~/.config/solana/id.json',
  ],
});
