/** `flywheel batch show`: one batch with its pipelines and what each did. */
import type { Command } from '@commander-js/extra-typings';
import type { PipelineState } from '../../../contract/schemas/batch.js';
import { MAX_PAGE_ITEMS } from '../../../contract/schemas/page.js';
import { defineCommand, type Session } from '../../command.js';
import { parseBatchId } from '../../options/names.js';
import { callWith } from '../../send.js';
import { viewBatch, viewPipelines } from '../../views/batch.js';

const configure = (command: Command) => command.argument('<batchId>', 'id of the batch (UUID), of any age');

async function run(session: Session, [id]: [string]): Promise<undefined> {
  const batchId = parseBatchId(id);
  const opened = await session.service();
  const { value: batch } = await opened.service.getBatch({ batchId }, callWith(session, opened));
  const pipelines: PipelineState[] = [];
  for (let cursor: string | undefined, more = true; more; ) {
    const { value } = await opened.service.batchPipelines(
      { batchId, limit: MAX_PAGE_ITEMS, ...(cursor === undefined ? {} : { cursor }) },
      callWith(session, opened),
    );
    pipelines.push(...value.items);
    cursor = value.nextCursor ?? undefined;
    more = cursor !== undefined;
  }
  session.output.result({ ...batch, pipelines }, (style) => [
    ...viewBatch(batch, style),
    ...viewPipelines(pipelines, style),
  ]);
  return undefined;
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '{ "id", "status", …, "pipelines": [ { "index", "type", "payload", "actions", "proofHash",',
    '  "state": "WAITING"|"EXECUTED"|"FAILED"|"NOT_EXECUTED", "txHash"?, "dateExecuted"?, "message"? } ] }',
  ],
  errors: ['ERR_BATCH_NOT_FOUND', 'ERR_NOT_FOUND'],
  examples: ['flywheel batch show 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11'],
});
