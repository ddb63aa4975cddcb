/** All commands by the words one types, each with its summary and the module that has the rest; nothing is loaded here. */
import type { CatalogueEntry } from './command.js';

const command = (
  name: string,
  summary: string,
  load: NonNullable<CatalogueEntry['load']>,
): CatalogueEntry => ({ name, summary, load });

const group = (name: string, summary: string, entries: readonly CatalogueEntry[]): CatalogueEntry => ({
  name,
  summary,
  entries,
});

/** Headings of `flywheel --help`, in their order. */
const BURN = 'Burn and airdrop:';
const LOOK = 'See what happened:';
const KEEP = 'Set up and run:';
const SETTLE = 'Settings and help:';

const TASKS: Readonly<Record<string, string>> = {
  ...{ burn: BURN, 'burn-batch': BURN, batch: BURN, pending: BURN },
  ...{ history: LOOK, report: LOOK, proof: LOOK, vault: LOOK, audit: LOOK },
  ...{ local: KEEP, register: KEEP, serve: KEEP, keys: KEEP, caps: KEEP, db: KEEP },
};

const ENTRIES: readonly CatalogueEntry[] = [
  command('burn', 'Burn tokens and record the proof (deprecated).', () => import('./commands/burn.js')),
  command(
    'burn-batch',
    'Burn tokens for each entry of a file (deprecated).',
    () => import('./commands/burn-batch.js'),
  ),
  group('batch', 'Burn and airdrop in batches that the owner approves.', [
    command('init', 'Set up a batch from a pipelines file.', () => import('./commands/batch/init.js')),
    command(
      'inspect',
      'Decode a batch from the chain and show its effects.',
      () => import('./commands/batch/inspect.js'),
    ),
    command(
      'approve',
      'Check a batch, then sign its approval as the owner.',
      () => import('./commands/batch/approve.js'),
    ),
    command(
      'execute',
      'Send the signed approval and execute the batch.',
      () => import('./commands/batch/execute.js'),
    ),
    command(
      'run',
      'Set up, check, approve and execute a batch in one command.',
      () => import('./commands/batch/run.js'),
    ),
    command(
      'verify',
      'Verify on chain that a batch did what a file says.',
      () => import('./commands/batch/verify.js'),
    ),
    command('status', 'Show a batch by its id.', () => import('./commands/batch/status.js')),
    command(
      'show',
      'Show a batch with each pipeline and its outcome.',
      () => import('./commands/batch/show.js'),
    ),
    command('list', 'List the batches, newest first.', () => import('./commands/batch/list.js')),
    command(
      'cancel',
      'Cancel the transactions of a batch that were not executed.',
      () => import('./commands/batch/cancel.js'),
    ),
    command('current', 'Show the batch in progress.', () => import('./commands/batch/current.js')),
  ]),
  command(
    'pending',
    'List and resume operations with an unknown outcome.',
    () => import('./commands/pending.js'),
  ),
  command('history', 'List every burn and airdrop, newest first.', () => import('./commands/history.js')),
  command('report', 'Show totals of burns, airdrops and costs.', () => import('./commands/report.js')),
  command('schema', 'Print the JSON Schema of an input file.', () => import('./commands/schema.js')),
  group('proof', 'Hash proofs and verify them on chain.', [
    command('hash', 'Print the SHA-256 of a proof.', () => import('./commands/proof/hash.js')),
    command(
      'verify',
      'Check that a transaction carries the hash of a proof.',
      () => import('./commands/proof/verify.js'),
    ),
  ]),
  command(
    'register',
    'Create a project on devnet, mainnet or another cluster.',
    () => import('./commands/register.js'),
  ),
  group('keys', 'Manage the API keys of a project.', [
    command('list', 'List the API keys.', () => import('./commands/keys/list.js')),
    command('create', 'Create an API key and show it once.', () => import('./commands/keys/create.js')),
    command('revoke', 'Revoke an API key.', () => import('./commands/keys/revoke.js')),
  ]),
  group('db', 'Manage the PostgreSQL database.', [
    command(
      'status',
      'Show its size, schema version and running work.',
      () => import('./commands/db/status.js'),
    ),
    command('copy', 'Copy a data directory into it.', () => import('./commands/db/copy.js')),
    command('migrate', 'Upgrade its schema.', () => import('./commands/db/migrate.js')),
    command(
      'check',
      'Check a database or a data directory for errors.',
      () => import('./commands/db/check.js'),
    ),
    command(
      'accept-gap',
      'Accept on-chain transactions that the store has lost.',
      () => import('./commands/db/accept-gap.js'),
    ),
  ]),
  command('caps', 'Show or change the daily caps.', () => import('./commands/caps.js')),
  command('audit', 'Show the audit log of keys and registrations.', () => import('./commands/audit.js')),
  command('vault', 'Show balances and remaining caps.', () => import('./commands/vault.js')),
  group('local', 'Manage the project on this machine.', [
    command(
      'init',
      'Create a project: token, vault, multisig, API key.',
      () => import('./commands/local/init.js'),
    ),
    command('status', 'Show the project and its balances.', () => import('./commands/local/status.js')),
    command('fund', 'Send test tokens or test SOL to an account.', () => import('./commands/local/fund.js')),
    command('reset', 'Delete the data directory.', () => import('./commands/local/reset.js')),
    command(
      'export-owner',
      "Write the owner's keypair to a file.",
      () => import('./commands/local/export-owner.js'),
    ),
    command(
      'fetch-squads',
      'Download the Squads program from a cluster.',
      () => import('./commands/local/fetch-squads.js'),
    ),
    command('rpc', 'Serve the local ledger as a Solana RPC node.', () => import('./commands/local/rpc.js')),
  ]),
  command('serve', 'Serve the API over HTTP.', () => import('./commands/serve.js')),
  group('profile', 'Manage connection profiles.', [
    command('add', 'Add or update a profile.', () => import('./commands/profile/add.js')),
    command('list', 'List the profiles.', () => import('./commands/profile/list.js')),
    command('show', 'Show a profile.', () => import('./commands/profile/show.js')),
    command('pin', 'Pin the project as it is on chain.', () => import('./commands/profile/pin.js')),
    command('use', 'Make a profile the default.', () => import('./commands/profile/use.js')),
    command('remove', 'Remove a profile and its key.', () => import('./commands/profile/remove.js')),
  ]),
  command('whoami', 'Show the effective settings and their sources.', () => import('./commands/whoami.js')),
  command(
    'doctor',
    'Check settings, file permissions and connections.',
    () => import('./commands/doctor.js'),
  ),
  command('completion', 'Print a shell completion script.', () => import('./commands/completion.js')),
  command('demo', 'Try everything on this machine, in one run.', () => import('./commands/demo.js')),
  command('help', 'Show help for a command or a topic.', () => import('./commands/help.js')),
  command('version', 'Print the version.', () => import('./commands/version.js')),
  {
    ...command('__complete', 'Print completions.', () => import('./commands/complete.js')),
    isHidden: true,
  },
];

/** All commands, those of one task beside each other. */
export const CATALOGUE: readonly CatalogueEntry[] = [BURN, LOOK, KEEP, SETTLE].flatMap((task) =>
  ENTRIES.filter(({ name }) => (TASKS[name] ?? SETTLE) === task).map((entry) => ({ ...entry, task })),
);
