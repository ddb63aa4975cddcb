/** `flywheel batch status`: one batch, once or until it is final. */
import type { Command } from '@commander-js/extra-typings';
import type { Batch } from '../../../contract/schemas/batch.js';
import { FlywheelError } from '../../../errors/flywheel-error.js';
import { failedBatch } from '../../batch/batch-failure.js';
import { defineCommand, type OptionsOf, type Session } from '../../command.js';
import { parseBatchId } from '../../options/names.js';
import { callWith, noteReply } from '../../send.js';
import { viewBatch } from '../../views/batch.js';

/** Pause between two looks; within the limit of 10 requests a second. */
const POLL_MS = 1_000;

const isFinal = (batch: Batch): boolean => batch.status === 'EXECUTED' || batch.status === 'FAILED';

const configure = (command: Command) =>
  command
    .argument('<batchId>', 'batch id (UUID)')
    .option('--watch', 'wait until it is EXECUTED or FAILED (exit 10); --timeout limits the wait');

type Options = OptionsOf<typeof configure>;

async function readBatch(session: Session, batchId: string): Promise<Batch> {
  const opened = await session.service();
  const reply = await opened.service.getBatch({ batchId }, callWith(session, opened));
  noteReply(session, reply);
  return reply.value;
}

async function run(session: Session, [id]: [string], options: Options): Promise<undefined> {
  const batchId = parseBatchId(id);
  const isWatched = options.watch === true;
  const batch = isWatched ? await watch(session, batchId) : await readBatch(session, batchId);
  session.output.result(batch, (style) => viewBatch(batch, style));
  if (isWatched && batch.status === 'FAILED') throw failedBatch(session, batch, batch.executeResult);
  return undefined;
}

/** Looks until the batch is final. In ndjson every state that is passed on the way is a line. */
async function watch(session: Session, batchId: string): Promise<Batch> {
  const { context, output, settings } = session;
  const limitSeconds = settings.timeoutSeconds.value;
  const endMs =
    limitSeconds === null ? Number.POSITIVE_INFINITY : context.clock.nowMs() + limitSeconds * 1_000;
  for (let last = ''; ; ) {
    const batch = await readBatch(session, batchId);
    if (isFinal(batch) || context.io.stdout.closed) return batch;
    if (output.mode === 'ndjson' && batch.dateUpdated !== last) output.jsonLine(batch);
    last = batch.dateUpdated;
    const leftMs = endMs - context.clock.nowMs();
    if (leftMs <= 0) {
      throw new FlywheelError(
        'ERR_TIMEOUT',
        `Batch ${batchId} is still ${batch.status} after ${limitSeconds} s.`,
        {
          hint: 'Run the command again to keep waiting.',
        },
      );
    }
    output.progress.show(`${batch.status}, waiting for the batch to finish …`);
    await context.sleep(Math.min(POLL_MS, leftMs));
  }
}

export const command = defineCommand({
  configure,
  run,
  output: [
    '{ "id", "flywheelId", "tokenId", "mintAddress", "status", "batchIndex", "vaultIndex", "multisig",',
    '  "vaultAddress", "initResult"?, "executeResult"?, "dateCreated", "dateUpdated" }',
  ],
  details: ['With --watch it exits 0 when the batch is EXECUTED, and 10 when it is FAILED.'],
  examples: [
    'flywheel batch status 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11',
    'flywheel batch status 5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11 --watch --timeout 120',
  ],
});
