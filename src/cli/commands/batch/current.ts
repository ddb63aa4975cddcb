/** `flywheel batch current`: the batch that is not final yet. */
import type { Batch } from '../../../contract/schemas/batch.js';
import { type CommandSpec, inSteps } from '../../command.js';
import { callWith, noteReply } from '../../send.js';
import { viewBatch } from '../../views/batch.js';

export const command: CommandSpec = {
  output: ['a batch, as `flywheel batch status` prints it, or null'],
  errors: ['ERR_UNAUTHORIZED', 'ERR_BATCH_CURRENT_FAILED', 'ERR_UNAVAILABLE'],
  examples: ['flywheel batch current', 'flywheel batch current --json'],
  run: inSteps<null, Batch | null>({
    parse: () => null,
    run: async (session) => {
      const opened = await session.service();
      const reply = await opened.service.currentBatch(callWith(session, opened));
      noteReply(session, reply);
      return reply.value;
    },
    view: (batch, style) => (batch === null ? ['No batch is waiting.'] : viewBatch(batch, style)),
  }),
};
