/** Before a batch is executed by its id: what it is to do may have landed by another one since it was set up. */
import type { Batch, InitBatchRequest, PipelineState } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { type Entry, isOver } from '../journal/journal.js';
import { foreseeUnchanged } from '../operation/done-there.js';
import { kindsOf } from '../operation/elements.js';
import { locate } from '../operation/locate.js';
import { commandLine } from '../operation/resume-line.js';
import { pipelinesWith } from '../operation/service-record.js';
import { isNotOffered } from '../send.js';
import { countText } from '../views/unit.js';
import { isOver as isOverThere } from './initiate.js';
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
    return [];
  });
  // A list by its own proofs that does not hold the batch itself says nothing.
  if (own === null || !found.some((one) => one.batch.id === batch.id))
    return session.output.tell(
      'The service does not say what it has done, so nobody looked whether another batch has landed the same.',
    );
  // What waits in another batch may have been executed by members meanwhile, or be yet.
  const elsewhere = new Set(
    found
      .filter(({ batch: { id, ...of }, pipeline }) => id !== batch.id && mayHaveLanded(of, pipeline))
      .map(({ pipeline }) => subjectOf(pipeline)),
  );
  const twice = own.filter((pipeline) => elsewhere.has(subjectOf(pipeline))).length;
  if (twice === 0) return;
  const cancel = commandLine(session.settings, 'batch', 'cancel', batch.id);
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${twice} of ${countText(own.length, 'pipeline')} of batch ${batch.id} landed in another batch, or wait in one. Nothing was sent.`,
    { hint: `Cancel it: \`${cancel}\`. To execute all of it all the same, add --again.` },
  );
}

const mayHaveLanded = (
  batch: Pick<Batch, 'status' | 'dateCancelled'>,
  { state }: Pick<PipelineState, 'state'>,
): boolean => state === 'EXECUTED' || !isOverThere(batch);

/** What it is about, whatever the amounts and recipients. */
const subjectOf = (pipeline: PipelineState): string =>
  [pipeline.type, pipeline.proofHash, ...kindsOf(pipeline)].join(' ');
