/** Before a batch is executed by its id: what it is to do may have landed by another one since it was set up. */
import type { Batch, InitBatchRequest, PipelineState } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { canonicalJson, type JsonObject } from '../../values/canonical-json.js';
import type { Session } from '../command.js';
import { type Entry, isOver } from '../journal/journal.js';
import { BY_NOTES, foreseeUnchanged } from '../operation/done-there.js';
import { locate } from '../operation/locate.js';
import { commandLine } from '../operation/resume-line.js';
import { pipelinesWith } from '../operation/service-record.js';
import { isNotOffered } from '../send.js';
import { countText } from '../views/unit.js';
import { listedPipelines } from './landed-pipelines.js';
import { PipelinesWork } from './pipelines-work.js';

/** @throws `ERR_INPUT_INVALID` for what has landed by another batch; nothing was sent then. */
export async function requireNotLandedElsewhere(session: Session, batch: Batch): Promise<void> {
  await locate(session);
  const journal = await (await session.service()).journal();
  const entry = journal.takeBatch(batch.id);
  if (entry === undefined) return requireFirst(session, batch);
  try {
    await requireOwn(session, entry);
  } finally {
    if (!isOver(entry.state)) entry.release();
  }
}

/** As the command that has begun its operation would, which knows all of the file. */
async function requireOwn(session: Session, entry: Entry): Promise<void> {
  const body = entry.body();
  if (body === undefined || entry.notes['again'] === true) return;
  const how = { rest: false, allowChanged: entry.notes['allowChanged'] === true };
  const work = new PipelinesWork(session, JSON.parse(body) as InitBatchRequest, how);
  const unanswered = work.unanswered(entry);
  if (unanswered !== undefined) await foreseeUnchanged(session, entry, unanswered, work);
}

async function requireFirst(session: Session, batch: Batch): Promise<void> {
  const opened = await session.service();
  const own = await listedPipelines(session, opened, batch);
  const hashes = [...new Set(own?.map(({ proofHash }) => proofHash))];
  const found = await pipelinesWith(session, hashes).catch((error: unknown) => {
    if (!isNotOffered(error)) throw error;
    return null;
  });
  if (own === null || found === null) return session.output.tell(BY_NOTES);
  const landed = new Map<string, number>();
  for (const { batch: other, pipeline } of found)
    if (other.id !== batch.id && pipeline.state === 'EXECUTED')
      landed.set(contentOf(pipeline), (landed.get(contentOf(pipeline)) ?? 0) + 1);
  const twice = own.filter((pipeline) => {
    const left = landed.get(contentOf(pipeline)) ?? 0;
    landed.set(contentOf(pipeline), left - 1);
    return left > 0;
  }).length;
  if (twice === 0) return;
  const cancel = commandLine(session.settings, 'batch', 'cancel', batch.id);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${twice} of ${countText(own.length, 'pipeline')} of batch ${batch.id} landed in another batch. Nothing was sent.`,
    { hint: `Cancel it: \`${cancel}\`. To execute all of it once more, add --again.` },
  );
}

const contentOf = ({ type, proofHash, actions }: PipelineState): string =>
  canonicalJson({ type, proofHash, actions } as unknown as JsonObject);
