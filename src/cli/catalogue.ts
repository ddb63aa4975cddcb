/** All commands with their summaries and the modules that define them; a module is loaded when its command is typed. */
import type { CatalogueEntry, CommandSpec } from './command.js';

const command = <Word extends string>(
  name: Word,
  summary: string,
  load: () => Promise<{ readonly commands: Readonly<Record<Word, CommandSpec>> }>,
): CatalogueEntry => ({ name, summary, load: async () => (await load()).commands[name] });

const group = (name: string, summary: string, entries: readonly CatalogueEntry[]): CatalogueEntry => ({
  name,
  summary,
  entries,
});

const burns = () => import('./commands/burn.js');
const files = () => import('./commands/batch/pipelines.js');
const votes = () => import('./commands/batch/votes.js');
const reads = () => import('./commands/batch/read.js');
const projects = () => import('./commands/register.js');
const lists = () => import('./commands/lists.js');
const proof = () => import('./commands/proof.js');
const keys = () => import('./commands/keys.js');
const db = () => import('./commands/db.js');
const local = () => import('./commands/local.js');
const servers = () => import('./commands/serve.js');
const profile = () => import('./commands/profile.js');
const shell = () => import('./commands/shell.js');

/** Headings of `flywheel --help` with their commands, in order. */
const TASKS: Readonly<Record<string, readonly CatalogueEntry[]>> = {
  'Burn and airdrop:': [
    command('burn', 'Burn tokens and record the proof (deprecated).', burns),
    command('burn-batch', 'Burn tokens for each entry of a file (deprecated).', burns),
    group('batch', 'Burn and airdrop in batches that the owner approves.', [
      command('init', 'Set up a batch from a pipelines file.', files),
      command('inspect', 'Decode a batch from the chain and show its effects.', reads),
      command('approve', 'Check a batch, then sign its approval as the owner.', votes),
      command('execute', 'Send the signed approval and execute the batch.', votes),
      command('run', 'Set up, check, approve and execute a batch in one command.', files),
      command('verify', 'Verify on chain that a batch did what a file says.', reads),
      command('status', 'Show a batch by its id.', reads),
      command('show', 'Show a batch with each pipeline and its outcome.', reads),
      command('list', 'List the batches, newest first.', reads),
      command('cancel', 'Cancel what a batch has not executed yet.', votes),
      command('current', 'Show the batch in progress.', reads),
    ]),
    command(
      'pending',
      'List and resume operations with an unknown outcome.',
      () => import('./commands/pending.js'),
    ),
  ],
  'See what happened:': [
    command('history', 'List every burn and airdrop, newest first.', lists),
    command('report', 'Show totals of burns, airdrops and costs.', lists),
    group('proof', 'Hash proofs and verify them on chain.', [
      command('hash', 'Print the SHA-256 of a proof.', proof),
      command('verify', 'Check that a transaction carries the hash of a proof.', proof),
    ]),
    command('audit', 'Show the audit log of keys and registrations.', keys),
    command('vault', 'Show balances and remaining caps.', local),
  ],
  'Set up and run:': [
    command('register', 'Create a project on devnet, mainnet or another cluster.', projects),
    group('keys', 'Manage the API keys of a project.', [
      command('list', 'List the API keys.', keys),
      command('create', 'Create an API key and show it once.', keys),
      command('revoke', 'Revoke an API key.', keys),
    ]),
    group('db', 'Manage the PostgreSQL database.', [
      command('status', 'Show size, schema version and running work.', db),
      command('copy', 'Copy a data directory into the database.', db),
      command('migrate', 'Upgrade the schema.', db),
      command('check', 'Check a database or a data directory for errors.', db),
      command('accept-gap', 'Accept transactions on chain that are not in the store.', db),
    ]),
    command('caps', 'Show or change the daily caps.', keys),
    group('local', 'Manage the project on this machine.', [
      command('init', 'Create a project: token, vault, multisig, API key.', projects),
      command('status', 'Show the project and its balances.', local),
      command('fund', 'Send test tokens or test SOL to an account.', local),
      command('reset', 'Delete the data directory.', local),
      command('export-owner', "Write the owner's keypair to a file.", local),
      command('fetch-squads', 'Download the Squads program from a cluster.', local),
      command('rpc', 'Serve the local ledger as a Solana RPC node.', servers),
    ]),
    command('serve', 'Serve the API over HTTP.', servers),
  ],
  'Settings and help:': [
    command('schema', 'Print the JSON Schema of an input file.', shell),
    group('profile', 'Manage connection profiles.', [
      command('add', 'Add or update a profile.', profile),
      command('list', 'List the profiles.', profile),
      command('pin', 'Pin the project as it is on chain.', profile),
      command('use', 'Make a profile the default.', profile),
      command('remove', 'Remove a profile and its key.', profile),
    ]),
    command('whoami', 'Show the effective settings and their sources.', () => import('./commands/whoami.js')),
    command(
      'doctor',
      'Check settings, file permissions and connections.',
      () => import('./commands/doctor.js'),
    ),
    command('completion', 'Print a shell completion script.', shell),
    command('demo', 'Try everything on this machine, in one run.', () => import('./commands/demo.js')),
    command('help', 'Show help for a command or a topic.', shell),
    { ...command('__complete', 'Print completions.', shell), isHidden: true },
  ],
};

export const CATALOGUE: readonly CatalogueEntry[] = Object.entries(TASKS).flatMap(([task, entries]) =>
  entries.map((entry) => ({ ...entry, task })),
);
