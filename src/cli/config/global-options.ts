/** The options that every command takes. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { OptionsOf } from '../command.js';
import { collect } from '../options/amounts.js';
import { OUTPUT_MODES } from './output-mode.js';

/** Declares the global options in the order in which help lists them (contract, section 2.2). */
export const addGlobalOptions = (program: Command) =>
  program
    .option('--json', 'print JSON; the same as --output json')
    .addOption(
      new Option('--output <mode>', 'what to print (default: human on a terminal, else json)').choices(
        OUTPUT_MODES,
      ),
    )
    .option('-q, --quiet', 'no notices and no progress on stderr')
    .option('-v, --verbose', 'say more on stderr')
    .option('--no-color', 'no colour')
    .option('--accessible', 'sentences in ASCII only: no spinner, no bars')
    .option('-p, --profile <name>', 'use this profile')
    .option('--local', 'use the embedded engine even if an API is configured')
    .option('--api-url <url>', 'use the API at this address')
    .option('--api-key-header <name>', 'header that carries the API key')
    .option('--data-dir <dir>', 'where the embedded engine keeps its state')
    .option(
      '--database-url-file <file>',
      'file with the address of the PostgreSQL database that holds the flywheels',
    )
    .option('--project <name>', 'which flywheel of the database')
    .option(
      '--rpc-url <url>',
      'RPC node of your own, or mainnet, devnet, testnet, localhost; repeat it for several',
      collect,
    )
    .option('--quorum <n>', 'how many of the RPC nodes have to agree (default: 1)')
    .option('--operator-signer <command>', 'program that signs for the operator, of the embedded engine')
    .option('--burn-signer <command>', 'program that signs for the burn wallet, of the embedded engine')
    .option(
      '--max-priority-fee <lamports>',
      'most that a transaction on a cluster pays beyond its signatures (default: 50000)',
    )
    .option('--commitment <level>', 'when it counts as landed: confirmed or finalized (default: confirmed)')
    .option('--timeout <seconds>', 'longest time for a request, or to wait with --watch')
    .option('--wait <seconds>', 'longest time for all tries and waits of a request (default: 600)')
    .option('--max-wait <seconds>', 'longest time to wait before further tries (default: 60)')
    .option('--pins <file>', 'hold approvals against this flywheel (from `profile pin --out`)')
    .option('--no-input', 'never ask')
    .option('--yes', 'answer every question with yes');

/** The global options as they were typed. */
export type GlobalFlags = Partial<OptionsOf<typeof addGlobalOptions>>;
