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
const LOOK = 'See what was done:';
const KEEP = 'Set up and keep:';
const SETTLE = 'Settings and help:';

const TASKS: Readonly<Record<string, string>> = {
  ...{ burn: BURN, 'burn-batch': BURN, batch: BURN, pending: BURN },
  ...{ history: LOOK, report: LOOK, proof: LOOK, vault: LOOK, audit: LOOK },
  ...{ local: KEEP, register: KEEP, serve: KEEP, keys: KEEP, db: KEEP },
};

const ENTRIES: readonly CatalogueEntry[] = [
  command('burn', 'Burn tokens once, on proof.', () => import('./commands/burn.js')),
  command(
    'burn-batch',
    'Burn for every element of a file, each on its own.',
    () => import('./commands/burn-batch.js'),
  ),
  group('batch', 'Run pipelines of burns, airdrops and memos through the multisig.', [
    command(
      'init',
      'Compile a pipelines file into a batch that waits for approval.',
      () => import('./commands/batch/init.js'),
    ),
    command('inspect', 'Show what the multisig will really do.', () => import('./commands/batch/inspect.js')),
    command(
      'approve',
      "Check a batch's approval, then sign it as the owner.",
      () => import('./commands/batch/approve.js'),
    ),
    command(
      'execute',
      'Land the signed approval and execute the batch.',
      () => import('./commands/batch/execute.js'),
    ),
    command('run', 'Do init, check, approve and execute in one go.', () => import('./commands/batch/run.js')),
    command(
      'verify',
      'Prove from chain that a batch did what a file says.',
      () => import('./commands/batch/verify.js'),
    ),
    command('status', 'Show a batch by its id.', () => import('./commands/batch/status.js')),
    command(
      'show',
      'Show a batch with its pipelines and what each did.',
      () => import('./commands/batch/show.js'),
    ),
    command('list', 'List the batches, newest first.', () => import('./commands/batch/list.js')),
    command(
      'cancel',
      'Cancel the transactions of a batch that were not executed.',
      () => import('./commands/batch/cancel.js'),
    ),
    command('current', 'Show the batch that is not final yet.', () => import('./commands/batch/current.js')),
  ]),
  command(
    'pending',
    'See and settle operations whose outcome is not known.',
    () => import('./commands/pending.js'),
  ),
  command('history', 'List every burn and airdrop, newest first.', () => import('./commands/history.js')),
  command(
    'report',
    'Sum up what was burned and airdropped, and what it cost.',
    () => import('./commands/report.js'),
  ),
  command(
    'schema',
    'Print the JSON Schema of a burns, pipelines or approval file.',
    () => import('./commands/schema.js'),
  ),
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
    'Register a token of a cluster, with its multisig, in a data directory.',
    () => import('./commands/register.js'),
  ),
  group('keys', 'Manage the API keys of a project.', [
    command('list', 'List the API keys.', () => import('./commands/keys/list.js')),
    command('create', 'Make an API key; it is shown once.', () => import('./commands/keys/create.js')),
    command('revoke', 'Revoke an API key.', () => import('./commands/keys/revoke.js')),
  ]),
  group('db', 'Look after the database that holds the flywheels.', [
    command('status', 'Show what is in it, and who is at work.', () => import('./commands/db/status.js')),
    command('copy', 'Copy everything of a data directory into it.', () => import('./commands/db/copy.js')),
    command('migrate', 'Bring its schema up to date.', () => import('./commands/db/migrate.js')),
    command(
      'check',
      'Check all rows of a database or a data directory.',
      () => import('./commands/db/check.js'),
    ),
    command(
      'accept-gap',
      'Show what the chain knows and the store does not, and go on without it.',
      () => import('./commands/db/accept-gap.js'),
    ),
  ]),
  command('audit', 'Show who registered, made and revoked what.', () => import('./commands/audit.js')),
  command(
    'vault',
    'Show balances, what is left of the caps, and for how long the SOL lasts.',
    () => import('./commands/vault.js'),
  ),
  group('local', 'Set up and look after the flywheel on this machine.', [
    command(
      'init',
      'Make a token, a funded vault, a multisig and an API key.',
      () => import('./commands/local/init.js'),
    ),
    command('status', 'Show the flywheel and its balances.', () => import('./commands/local/status.js')),
    command('fund', 'Give tokens or SOL to an account.', () => import('./commands/local/fund.js')),
    command('reset', 'Wipe the data directory.', () => import('./commands/local/reset.js')),
    command(
      'export-owner',
      "Write the owner's keypair to a file.",
      () => import('./commands/local/export-owner.js'),
    ),
    command(
      'fetch-squads',
      'Take the real Squads program over from a cluster.',
      () => import('./commands/local/fetch-squads.js'),
    ),
    command(
      'rpc',
      'Serve the local ledger as an RPC node of a test cluster.',
      () => import('./commands/local/rpc.js'),
    ),
  ]),
  command('serve', 'Serve the API over HTTP.', () => import('./commands/serve.js')),
  group('profile', 'Keep settings and keys for several APIs.', [
    command('add', 'Add a profile, or change one.', () => import('./commands/profile/add.js')),
    command('list', 'List the profiles.', () => import('./commands/profile/list.js')),
    command('show', 'Show a profile.', () => import('./commands/profile/show.js')),
    command('pin', 'Pin the flywheel as it is on chain.', () => import('./commands/profile/pin.js')),
    command('use', 'Make a profile the default.', () => import('./commands/profile/use.js')),
    command('remove', 'Remove a profile and its key.', () => import('./commands/profile/remove.js')),
  ]),
  command(
    'whoami',
    'Show the settings in force and where each comes from.',
    () => import('./commands/whoami.js'),
  ),
  command(
    'doctor',
    'Check configuration, permissions and reachability.',
    () => import('./commands/doctor.js'),
  ),
  command('completion', 'Print the completion script of a shell.', () => import('./commands/completion.js')),
  command('demo', 'Show everything at work on the embedded engine.', () => import('./commands/demo.js')),
  command('help', 'Show help for a command or a topic.', () => import('./commands/help.js')),
  command('version', 'Print the version.', () => import('./commands/version.js')),
  {
    ...command('__complete', 'What may follow.', () => import('./commands/complete.js')),
    isHidden: true,
  },
];

/** All commands, those of one task beside each other. */
export const CATALOGUE: readonly CatalogueEntry[] = [BURN, LOOK, KEEP, SETTLE].flatMap((task) =>
  ENTRIES.filter(({ name }) => (TASKS[name] ?? SETTLE) === task).map((entry) => ({ ...entry, task })),
);
