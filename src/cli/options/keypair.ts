/** The options of commands that sign as the owner. */
import { Option } from '@commander-js/extra-typings';

export const KEYPAIR_OPTION = new Option(
  '--keypair <file>',
  "owner's keypair file, or - (default: FLYWHEEL_KEYPAIR, then the Solana CLI's)",
);

export const EXPECT_OPTION = new Option(
  '--expect <file>',
  'refuse unless the batch equals this pipelines file or digest (sha256:…)',
);
