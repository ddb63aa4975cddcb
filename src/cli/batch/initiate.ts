/** Sets up the batch of an operation once, and finds it again on a repeat. */
import type { Batch, InitBatchRequest, InitBatchResult } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { cancelLine } from '../hints.js';
import type { Element, Entry } from '../journal/journal.js';
import { requireAnswersKey, type Unanswered } from '../operation/done-there.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { findBatch, getBatch, isEnded } from '../operation/service-record.js';
import { outcomeUnknown, trying } from '../operation/verdicts.js';
import { callWith, canBeDoneWithout, isNotOffered, noteReply } from '../send.js';
import { countText } from '../views/unit.js';
import { addToStage, CurrentStage } from './batch-stages.js';

interface Initiated {
  readonly answer: InitBatchResult;
  /** As the service has it now. */
  readonly batch: Batch;
  readonly isNew: boolean;
}

/**
 * The batch of an operation. In a dry run `undefined` when the service does not answer.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the batch: it was restored from a backup.
 */
export const seenBatch = (session: Session, batchId: string): Promise<Batch | undefined> =>
  getOwnBatch(session, batchId).catch(async (error: unknown) => {
    const isLost = isFlywheelError(error, 'ERR_OUTCOME_UNKNOWN');
    if (isLost || !(await canBeDoneWithout(session, error))) throw error;
    return undefined;
  });

/**
 * Refreshes a failed batch. Reading it does not look for transactions that members executed since; executing it does, and sends
 * nothing (contract, section 1.2).
 */
export async function upToDate(session: Session, batch: Batch): Promise<Batch> {
  if (batch.status !== 'FAILED' || isEnded(batch)) return batch;
  const opened = await session.service();
  try {
    await opened.service.executeBatch({ batchId: batch.id }, callWith(session, opened));
  } catch (error) {
    // This service executes only with a signed approval. Its state is compared with the chain later.
    if (!isFlywheelError(error, 'ERR_INVALID_REQUEST')) throw error;
  }
  return getBatch(session, batch.id);
}

/** @param isLast - no other request of the command follows. */
export async function initiate(
  session: Session,
  entry: Entry,
  request: InitBatchRequest,
  { isLast = true }: { readonly isLast?: boolean } = {},
): Promise<Initiated> {
  const stage = new CurrentStage(entry);
  const stored = stage.initAnswer;
  if (stored !== undefined) {
    const batch = await upToDate(session, await getOwnBatch(session, stored.batch.id));
    return { answer: stored, batch, isNew: false };
  }
  const part = stage.partOf(request);
  session.output.progress.show(`setting up a batch of ${countText(part.pipelines.length, 'pipeline')} …`);
  const opened = await session.service();
  const call = callWith(session, opened, stage.key);
  const send = () => opened.service.initBatch(part, call);
  const reply = await trying(entry, stage.initAnswerName, send).catch(async (error: unknown) => {
    throw await withCancel(session, stage.key, error);
  });
  session.output.progress.clear();
  noteReply(session, reply, { isLast, isOpen: true });
  const answer = reply.value;
  const { id } = answer.batch;
  await requireAnswersKey(
    session,
    async () => {
      const asked = { idempotencyKey: stage.key, limit: 1 };
      const { items } = (await opened.service.listBatches(asked, callWith(session, opened))).value;
      return items.filter((item) => item.id === id);
    },
    { names: `batch ${id}`, isNamed: reply.meta.requestId !== undefined },
  );
  if (entry.hasBatchOfAnother(id))
    throw outcomeUnknown(`The service answered with batch ${id}, which belongs to another operation.`);
  // This order matters: a stored answer is not requested again, so the batch id must be noted first.
  addToStage(entry, { batchId: id });
  entry.keep(stage.initAnswerName, answer);
  if (!reply.meta.replayed) return { answer, batch: answer.batch, isNew: true };
  if (entry.isNew) session.output.tell(`The service already set up this file as batch ${id}.`);
  return { answer, batch: await upToDate(session, await getBatch(session, id)), isNew: false };
}

/** Members of the multisig can end a set-up for good; then only a cancellation leads on. */
async function withCancel(session: Session, idempotencyKey: string, error: unknown): Promise<unknown> {
  if (!isFlywheelError(error) || error.options.hint !== undefined) return error;
  if (error.code !== 'ERR_INVALID_REQUEST' && error.code !== 'ERR_BATCH_INIT_FAILED') return error;
  const opened = await session.service();
  const asked = { idempotencyKey, limit: 1 };
  const listed = opened.service.listBatches(asked, callWith(session, opened));
  const [batch] = (await listed.catch(() => null))?.value.items ?? [];
  if (batch === undefined) return error;
  if (batch.dateCancelled !== undefined)
    return error.with({ hint: 'Add --rest to run what has not landed.', keyUnused: false });
  return error.with({ hint: `To give the batch up: ${cancelLine(session.settings, batch.id)}` });
}

/** @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the batch. */
async function getOwnBatch(session: Session, batchId: string): Promise<Batch> {
  const batch = await findBatch(session, batchId);
  if (batch !== null) return batch;
  throw outcomeUnknown(
    `The service does not know batch ${batchId}, which was set up from this machine.`,
    `The service may have been restored from a backup. Check the chain: \`${commandLine(session.settings, 'vault')}\`. --again sets up a new batch.`,
  );
}

/** The init answer with a fresh approval while the batch waits, if the service issues them. */
export async function freshAnswer(
  session: Session,
  { answer, batch, isNew }: Initiated,
): Promise<InitBatchResult> {
  if (isNew || batch.status !== 'FINALIZED') return answer;
  const opened = await session.service();
  try {
    return (await opened.service.issueApproval({ batchId: batch.id }, callWith(session, opened))).value;
  } catch (error) {
    if (isNotOffered(error)) return answer;
    return repeatable(session, () => Promise.reject(error));
  }
}

/** The request of a batch without an answer: its init. A stored result is printed, which needs no query. */
export function unansweredOf(operation: Entry, elements: readonly Element[]): Unanswered | undefined {
  const stage = new CurrentStage(operation);
  if (stage.runAnswer !== undefined) return undefined;
  return { requests: [{ key: stage.key, indexes: stage.indexes(elements) }] };
}
