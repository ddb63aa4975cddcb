/** The options that every command takes, as data. */
import type { OptionSpec } from '../command.js';

/** The global options in the order in which help lists them (contract, section 2.2). */
export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  { flags: '--json', description: 'print JSON; the same as --output json' },
  {
    flags: '--output <mode>',
    description: 'what to print (default: human on a terminal, else json)',
    choices: ['human', 'json', 'ndjson'],
  },
  { flags: '-q, --quiet', description: 'no notices and no progress on stderr' },
  { flags: '-v, --verbose', description: 'say more on stderr' },
  { flags: '--no-color', description: 'no colour' },
  { flags: '-p, --profile <name>', description: 'use this profile' },
  { flags: '--local', description: 'use the embedded engine even if an API is configured' },
  { flags: '--api-url <url>', description: 'use the API at this address' },
  { flags: '--api-key-header <name>', description: 'header that carries the API key' },
  { flags: '--data-dir <dir>', description: 'where the embedded engine keeps its state' },
  { flags: '--timeout <seconds>', description: 'longest time for a request, or to wait with --watch' },
  {
    flags: '--wait <seconds>',
    description: 'longest time for all tries and waits of a request (default: 600)',
  },
  { flags: '--max-wait <seconds>', description: 'longest time to wait for a rate limit (default: 60)' },
  { flags: '--no-input', description: 'never ask' },
  { flags: '--yes', description: 'answer every question with yes' },
];
