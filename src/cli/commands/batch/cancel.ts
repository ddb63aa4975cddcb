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
  output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
  errors: [
    'ERR_BATCH_NOT_FOUND',
    'ERR_BATCH_IN_PROGRESS',
    'ERR_KEYPAIR_INVALID',
    'ERR_APPROVAL_REFUSED',
    'ERR_CHAIN_MISMATCH',
    'ERR_DECLINED',
    'ERR_OUTCOME_UNKNOWN',
  ],
  examples: [
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
  ],
});
