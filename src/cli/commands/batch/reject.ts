/** `flywheel batch reject`: votes a batch down that has not been approved. */
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
    return runEnd(session, id, options, true);
  },
  details: [
    'Reads the batch from chain, shows what it would do, and asks; a batch that could never be approved can be rejected too.',
    'What has been approved already is refused: `batch cancel` ends that, and asks only where the vote of the owner is needed.',
    'A vote alone would leave its accounts and their rent behind, so that the batch is closed as `batch cancel` does it.',
    'Where the vote of the operator is enough, that of the owner is not signed.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
  examples: [
    'flywheel batch reject 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
    'flywheel batch reject 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
  ],
});
