/** The options of commands that sign as the owner. */
import { Option } from '@commander-js/extra-typings';

export const KEYPAIR_OPTION = new Option(
  '--keypair <file>',
  "the owner's keypair: JSON bytes or base58, a file or - (default: FLYWHEEL_KEYPAIR, then the Solana CLI's)",
);

export const EXPECT_OPTION = new Option(
  '--expect <file>',
  'refuse unless the batch holds exactly this pipelines file, or has this digest (sha256:…)',
);
