/** `flywheel batch cancel`: ends what of a batch has not been executed. */
import type { Command } from '@commander-js/extra-typings';
import { defineCommand } from '../../command.js';
import { KEYPAIR_OPTION } from '../../options/keypair.js';
import { parseBatchId } from '../../options/names.js';

const configure = (command: Command) =>
  command.argument('<batchId>', 'batch id (UUID)').addOption(KEYPAIR_OPTION);

export const command = defineCommand({
  configure,
  run: async (session, [id], options) => {
    const batchId = parseBatchId(id);
    const [{ cancelBatch }, { keypairLocation, loadKeypair }] = await Promise.all([
      import('../../batch/end-batch.js'),
      import('../../wallet/load-keypair.js'),
    ]);
    const { context, settings } = session;
    // A path that was typed is looked at now, the usual one only when the owner's vote is needed.
    const typed =
      options.keypair === undefined ? undefined : keypairLocation(context, settings, options.keypair);
    await cancelBatch(session, batchId, () =>
      loadKeypair(context, typed ?? keypairLocation(context, settings, undefined)),
    );
    return undefined;
  },
  details: [
    'Shows the batch as it is on chain and asks. Then votes it down, approved or not, and closes its accounts. Their rent and the',
    'reserved caps come back. Executed transactions stay executed. If the vote of the owner is needed, it is signed with the',
    'keypair.',
  ],
  uses: ['service', 'request', 'chain', 'approval'],
  output: ['{ "id", "status": "FAILED", "executeResult"?, "dateCancelled", … }'],
  examples: [
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json',
    'flywheel batch cancel 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --keypair owner.json --yes --json',
  ],
});
