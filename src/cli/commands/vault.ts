/** `flywheel vault`: addresses, balances, what today's caps leave, and for how long the SOL lasts. */
import { defineCommand } from '../command.js';
import { viewVault } from '../views/vault.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const report = await (await session.local()).vault();
    session.output.linkTo(report.cluster?.name ?? null);
    session.output.result(report, (style) => viewVault(report, style));
    return undefined;
  },
  details: [
    'Reads the project of the data directory. For "pipelines" it assumes one burn per pipeline: rent comes back when the batch is closed, fees do not. The SOL that `batch init` must leave the operator is not counted.',
  ],
  output: [
    '{ "cluster": { "name", "genesisHash" }|null, "name", "symbol", "mintAddress", "multisig", "vaultIndex", "vaultAddress", "vaultTokenAccount",',
    '  "burnWallet", "burnTokenAccount", "owner", "operator", "balances": { "vault": { "tokens", "lamports" }, "burnWallet", "owner", "operator" },',
    '  "today": { "day", "burn": { "used", "cap"|null, "left"|null }, "airdrop" },',
    '  "pipelines": { "rentLamports", "feeLamports", "openRentLamports", "vaultRentLamports", "atOnce": number, "lasts" }, "burns": { "feeLamports", "lasts" } }',
  ],
  examples: ['flywheel vault', 'flywheel vault --data-dir /srv/flywheel --json'],
});
