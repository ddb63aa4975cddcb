/** `flywheel batch cancel`: ends what of a batch has not been executed. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from '../../command.js';
import { ALLOW_UNVERIFIED_OPTION, KEYPAIR_OPTION } from '../../options/keypair.js';

const configure = (command: Command) =>
  command
    .argument('<batchId>', 'id of the batch (UUID)')
    .addOption(KEYPAIR_OPTION)
    .addOption(ALLOW_UNVERIFIED_OPTION);

export const command = defineCommand({
  configure,
  run: async (session, [id], options) => {
    const { runEnd } = await import('../../batch/run-end.js');
    return runEnd(session, id, options, false);
  },
  details: [
    'Votes it down on chain, closes its accounts and gives back their rent and what it held of daily caps.',
    'What has been executed stays. Where the vote of the owner is needed it is asked for and signed with the keypair.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
  examples: [
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
  ],
});
