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

export const NO_SIMULATE_OPTION = new Option(
  '--no-simulate',
  'do not try the batch out before it is signed; needs --expect',
);

export const ALLOW_UNVERIFIED_OPTION = new Option(
  '--allow-unverified',
  'sign although no chain can be read to check what the batch does',
);
