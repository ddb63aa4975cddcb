/** `flywheel local` and `vault`: the project of the data directory. */

import { resolve } from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import type { FundInput } from '../../contract/admin.js';
import { invalidInput, usageError } from '../../errors/flywheel-error.js';
import { isAddress } from '../../values/address.js';
import { grouped } from '../../values/token-amount.js';
import { defineCommand, type OptionsOf } from '../command.js';
import { requireConsent } from '../consent.js';
import type { Answer } from '../context.js';
import { decimal } from '../options.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';
import { balanceLines, capFields, clusterText, registrationFields } from '../views/project.js';
import { countText, linkField, solOf, solText, tokensText } from '../views/unit.js';

const viewStatus = (value: Answer<'status'>, style: Style): readonly string[] => [
  ...fieldLines(
    [
      ...registrationFields(value, value.usedToday),
      ['supply', tokensText(value.supply, value.symbol ?? null)],
      ['burned', tokensText(value.burned, value.symbol ?? null)],
    ],
    style,
  ),
  '',
  ...balanceLines(value.balances, ['owner', 'operator'], style),
];

const addresses = (value: Answer<'vault'>, style: Style): readonly Field[] => [
  ['cluster', value.cluster && clusterText(value.cluster)],
  ['mint', value.mintAddress],
  ['multisig', value.multisig],
  linkField(style, 'address', value.multisig),
  ['vault', `${value.vaultAddress} (index ${value.vaultIndex})`],
  ['  token account', value.vaultTokenAccount],
  linkField(style, 'address', value.vaultAddress),
  ['burn wallet', value.burnWallet],
  ['  token account', value.burnTokenAccount],
  linkField(style, 'address', value.burnWallet),
  ['operator', value.operator],
  linkField(style, 'address', value.operator),
  ['owner', value.owner],
];

const viewVault = (value: Answer<'vault'>, style: Style): readonly string[] => [
  style.bold(`${value.name} (${value.symbol})`),
  ...fieldLines(addresses(value, style), style),
  '',
  ...balanceLines(value.balances, ['operator', 'owner'], style),
  '',
  ...fieldLines(
    [
      ...capFields(value.today),
      [
        'burn fees',
        `SOL of the burn wallet covers ${countText(Number(value.burns.lasts), 'burn')} (at most ${solText(value.burns.feeLamports)} each)`,
      ],
      [
        'pipelines',
        `SOL for ${grouped(value.pipelines.lasts)} with a new recipient each, at most ${grouped(value.pipelines.atOnce)} per batch`,
      ],
      [
        '',
        `the operator pays at most ${solText(value.pipelines.feeLamports)} of fees each in a full batch, and ${solText(value.pipelines.rentLamports)} of rent until the batch is closed`,
      ],
      [
        '',
        `the vault pays ${solText(value.pipelines.vaultRentLamports)} of rent for the token account of a new recipient`,
      ],
      ['rent in open batches', solText(value.pipelines.openRentLamports)],
    ],
    style,
  ),
];

const FUNDED = ['vault', 'burn-wallet', 'owner', 'operator'];

const fundOptions = (command: Command) =>
  command
    .option('--to <account>', 'vault, burn-wallet, owner, operator or an address (default: vault)')
    .addOption(decimal('--tokens <n>', 'whole tokens to send'))
    .addOption(decimal('--sol <n>', 'SOL to send'));

function fundInput({ to = 'vault', ...amounts }: OptionsOf<typeof fundOptions>): FundInput {
  if (!FUNDED.includes(to) && !isAddress(to))
    throw invalidInput(`--to: expected ${FUNDED.join(', ')} or a base58 address of 32 bytes.`);
  if (amounts.tokens === undefined && amounts.sol === undefined)
    throw usageError('Add --tokens, --sol or both.');
  return { to, ...amounts };
}

export const commands = {
  status: defineCommand({
    run: async (session) => (await session.local()).status(),
    view: viewStatus,
    output: [
      'the output of `flywheel local init` without "apiKey", and',
      '{ "supply", "burned", "balances": { "vault", "burnWallet", "owner" }, "usedToday": { "burn", "airdrop" } }',
    ],
    examples: ['flywheel local status', 'flywheel local status --json'],
  }),
  fund: defineCommand({
    configure: fundOptions,
    run: async (session, _args, options) => {
      const input = fundInput(options);
      return (await session.local()).fund(input);
    },
    view: ({ address, tokens, lamports, txHash }: Answer<'fund'>, style) => [
      style.good(`Funded ${address}.`),
      ...fieldLines(
        [
          ['now has', `${grouped(tokens)} tokens, ${solOf(lamports)} SOL`],
          ['transaction', txHash],
        ],
        style,
      ),
    ],
    output: ['{ "address", "tokens": balance, "lamports": balance, "txHash": signature }'],
    examples: [
      'flywheel local fund --tokens 5000',
      'flywheel local fund --to burn-wallet --tokens 100 --sol 1',
    ],
  }),
  reset: defineCommand({
    run: async (session) => {
      const dataDir = session.settings.dataDir.value;
      await requireConsent(session, `Delete the project, its ledger and all its keys in ${dataDir}?`, {
        otherwise: 'Nothing was deleted.',
      });
      await (await session.local()).reset();
      return { dataDir, reset: true };
    },
    view: ({ dataDir }, style) => [style.good(`Deleted ${dataDir}.`)],
    details: ["Deletes the ledger, all keys, and the owner's keypair if it was created there."],
    output: ['{ "dataDir": path, "reset": true }'],
    examples: ['flywheel local reset --yes'],
  }),
  'export-owner': defineCommand({
    configure: (command) =>
      command.argument('<file>', 'file to write (0600); an existing file is not replaced'),
    run: async (session, [file]) => (await session.local()).exportOwner(resolve(session.context.cwd, file)),
    view: ({ address, keypair }, style) => [style.good(`Wrote the keypair of ${address} to ${keypair}.`)],
    output: ['{ "address", "keypair": path }'],
    examples: ['flywheel local export-owner owner.json'],
  }),
  'fetch-squads': defineCommand({
    run: async (session) => (await session.local()).fetchSquads(),
    view: ({ fetched, file, sha256 }, style) => [
      style.good(`This data directory ${fetched ? 'now' : 'already'} runs the real Squads program.`),
      `file     ${file}`,
      `SHA-256  ${sha256}`,
    ],
    details: [
      'Downloads the Squads program from the RPC node of --rpc-url, checks its SHA-256 against the one on mainnet, and stores it in the data directory. Without the program, a native implementation runs, which answers UnsupportedInstruction to instructions that it lacks.',
    ],
    output: ['{ "program": address, "sha256", "file", "fetched": boolean }'],
    examples: ['flywheel local fetch-squads --rpc-url mainnet'],
  }),
  vault: defineCommand({
    run: async (session) => {
      const report = await (await session.local()).vault();
      session.output.linkTo(report.cluster?.name ?? null);
      return report;
    },
    view: viewVault,
    details: [
      '"pipelines" is an estimate for pipelines of one airdrop, each to a new recipient. Rent comes back when the batch is closed, fees do not. The SOL that `batch init` must leave the operator is not counted.',
    ],
    output: [
      '{ "cluster": { "name", "genesisHash" }|null, "name", "symbol", "mintAddress", "multisig", "vaultIndex", "vaultAddress", "vaultTokenAccount",',
      '  "burnWallet", "burnTokenAccount", "owner", "operator", "balances": { "vault": { "tokens", "lamports" }, "burnWallet", "owner", "operator" },',
      '  "today": { "day", "burn": { "used", "cap"|null, "left"|null }, "airdrop" },',
      '  "pipelines": { "rentLamports", "feeLamports", "openRentLamports", "vaultRentLamports", "atOnce": number, "lasts" }, "burns": { "feeLamports", "lasts" } }',
    ],
    examples: ['flywheel vault', 'flywheel vault --data-dir /srv/flywheel --json'],
  }),
};
