/** `flywheel batch current`: the batch that is not final yet. */
import { defineCommand } from '../../command.js';
import { callWith, noteReply } from '../../send.js';
import { viewBatch } from '../../views/batch.js';

export const command = defineCommand({
  configure: (command) => command,
  run: async (session) => {
    const opened = await session.service();
    const reply = await opened.service.currentBatch(callWith(session, opened));
    const batch = reply.value;
    noteReply(session, reply);
    session.output.result(batch, (style) =>
      batch === null ? ['No batch in progress.'] : viewBatch(batch, style),
    );
    return undefined;
  },
  output: ['a batch, as `flywheel batch status` prints it, or null'],
  examples: ['flywheel batch current', 'flywheel batch current --json'],
});
