/** The option `--keypair`, the same for every command that has it. */
import type { OptionSpec } from '../command.js';

export const KEYPAIR_OPTION: OptionSpec = {
  flags: '--keypair <file>',
  description:
    "the owner's keypair: JSON bytes or base58, a file or - (default: FLYWHEEL_KEYPAIR, then the Solana CLI's)",
};

export const EXPECT_OPTION: OptionSpec = {
  flags: '--expect <file>',
  description: 'refuse unless the batch holds exactly this pipelines file, or has this digest (sha256:…)',
};

export const ALLOW_UNVERIFIED_OPTION: OptionSpec = {
  flags: '--allow-unverified',
  description: 'sign although no chain can be read to check what the batch does',
};
