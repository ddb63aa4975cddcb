/**
 * The batch of an operation: set up once, found again on a repeat, and how it ended, the same for `run`, `execute`, `cancel` and a
 * rest: checked against the user's chain, then noted here.
 */

import { CANCELLED } from '../../contract/call.js';
import type { Batch, InitBatchRequest, InitBatchResult, Pipeline } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { cancelLine } from '../hints.js';
import { type Element, type Entry, isOver, type Verdict } from '../journal/journal.js';
import { findBatch, getBatch, isEnded, requireAnswersKey, type Unanswered } from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { afterwards, lookedUp, outcomeUnknown, trying } from '../operation/verdicts.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';
import { callWith, canBeDoneWithout, isNotOffered, noteReply } from '../send.js';
import { countText } from '../views/unit.js';
import { noteExecuted } from './approval-limits.js';
import { addToStage, type CurrentStage, currentStage, ownBatch } from './batch-stages.js';
import { type Approved, landedCount, requireNothingOnChain, requireRanAsApproved } from './chain-agrees.js';

interface Initiated {
  readonly answer: InitBatchResult;
  /** As the service has it now. */
  readonly batch: Batch;
  readonly isNew: boolean;
}

/**
 * The batch of an operation. In a dry run `undefined` when the service does not answer.
 * @param stage - whose batch it is
 * @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the batch: it was restored from a backup.
 */
export const seenBatch = (
  session: Session,
  batchId: string,
  stage: CurrentStage,
): Promise<Batch | undefined> =>
  getOwnBatch(session, batchId, stage).catch(async (error: unknown) => {
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

interface InitTerms {
  /** No other request of the command follows. */
  readonly isLast: boolean;
  readonly beforeTry: () => Promise<void>;
  /** @throws `ERR_INPUT_INVALID` for a batch that was cancelled before anything landed */
  readonly requireWanted: (batch: Batch) => Promise<void>;
}

export async function initiate(
  session: Session,
  entry: Entry,
  request: InitBatchRequest,
  { isLast, beforeTry, requireWanted }: InitTerms,
): Promise<Initiated> {
  const stage = currentStage(entry);
  const stored = stage.initAnswer;
  if (stored !== undefined) {
    const batch = await upToDate(session, await getOwnBatch(session, stored.batch.id, stage));
    return { answer: stored, batch, isNew: false };
  }
  const part = stage.partOf(request);
  const opened = await session.service();
  const call = await lookedUp(entry, beforeTry, callWith(session, opened, stage.key));
  session.output.progress.show(`setting up a batch of ${countText(part.pipelines.length, 'pipeline')} …`);
  const reply = await trying(entry, stage.initAnswerName, () =>
    opened.service.initBatch(part, call).catch(async (error: unknown) => {
      throw await withCancel(session, stage.key, error, requireWanted);
    }),
  );
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
  const owner = (await opened.journal()).ofBatch(id);
  if (owner !== undefined && owner.id !== entry.id)
    throw outcomeUnknown(`The service answered with batch ${id}, which belongs to another operation.`);
  // This order matters: a stored answer is not requested again, so the batch id must be noted first.
  addToStage(entry, { batchId: id });
  entry.keep(stage.initAnswerName, answer);
  if (!reply.meta.replayed) return { answer, batch: answer.batch, isNew: true };
  if (entry.isNew) session.output.tell(`The service already set up this file as batch ${id}.`);
  const batch = await afterwards(async () => upToDate(session, await getBatch(session, id)));
  return { answer, batch, isNew: false };
}

/** Members of the multisig can end a set-up for good; then only a cancellation leads on. Its refusal does not say that nothing was done. */
async function withCancel(
  session: Session,
  idempotencyKey: string,
  error: unknown,
  requireWanted: InitTerms['requireWanted'],
): Promise<unknown> {
  if (!isFlywheelError(error) || error.options.keyUnused === true) return error;
  // The service may have been at the same request of a killed process before it refused this one.
  const isUnknown = error.code === 'ERR_OUTCOME_UNKNOWN' && error.status === 400;
  if (!isUnknown && error.code !== 'ERR_INVALID_REQUEST' && error.code !== 'ERR_BATCH_INIT_FAILED')
    return error;
  const opened = await session.service();
  const asked = { idempotencyKey, limit: 1 };
  const listed = opened.service.listBatches(asked, callWith(session, opened));
  const [batch] = (await listed.catch(() => null))?.value.items ?? [];
  if (batch === undefined) return error;
  const isCancelled = batch.dateCancelled !== undefined;
  if (isCancelled) await requireWanted(batch);
  if (isUnknown) return error;
  if (isCancelled) return error.with({ hint: 'Add --rest to run what has not landed.', keyUnused: false });
  const hint = `To give the batch up: ${cancelLine(session, batch.id)}`;
  return error.code === 'ERR_BATCH_INIT_FAILED'
    ? error.with({ hint: error.options.hint ?? hint })
    : error.with({ hint, keyUnused: false, unsent: false });
}

/** @throws `ERR_OUTCOME_UNKNOWN` when the service does not know the batch. */
async function getOwnBatch(
  session: Session,
  batchId: string,
  { initAnswer, note: { indexes } }: CurrentStage,
): Promise<Batch> {
  const batch = await findBatch(session, batchId);
  if (batch !== null) return batch;
  const noted = initAnswer?.batch;
  const isSeen = noted !== undefined && (await requireNothingOnChain(session, noted, indexes));
  const what = `The service does not know batch ${batchId}, which was set up from this machine.`;
  const number = noted === undefined ? '' : `, number ${noted.batchIndex} of the multisig,`;
  const look = `Look up the batch${number} on chain. If nothing of it was executed, or still can be, add --again.`;
  throw outcomeUnknown(
    isSeen ? `${what} On chain nothing of it was executed.` : what,
    `The service may have been restored from a backup. ${isSeen ? 'Add --again to set up a new batch.' : look}`,
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

/** The request of a batch whose end is not stored: its init. */
export function unansweredOf(operation: Entry, elements: readonly Element[]): Unanswered {
  const stage = currentStage(operation);
  return { requests: [{ key: stage.key, indexes: stage.indexes(elements) }] };
}

/** Indexes in the file of a stage's pipelines. */
interface Landings {
  readonly landed: readonly number[];
  readonly left: readonly number[];
}

interface Ended {
  /** Nothing is said of what ran without it, only how much. */
  readonly approved?: Approved;
  readonly wasSetUp?: boolean;
}

/**
 * How a batch ended: always the first of its pipelines landed, because a multisig executes in order.
 * @param stage - whose batch it is; `undefined`: this machine does not have its file
 * @param all - pipelines of the whole file
 * @throws `ERR_OUTCOME_UNKNOWN` where service and chain disagree; as {@link requireRanAsApproved}
 */
export async function concludeStage(
  session: Session,
  stage: CurrentStage | undefined,
  batch: Batch,
  all: readonly unknown[],
  { approved, wasSetUp = false }: Ended = {},
): Promise<Landings & { readonly count: number }> {
  const own = stage?.indexes(all);
  const known = { wasSetUp: wasSetUp || stage?.wasSetUp === true, ...(own && { size: own.length }) };
  const count = await landedCount(session, batch, known);
  if (approved !== undefined)
    await requireRanAsApproved(session, await session.service(), batch, count, approved);
  await noteExecuted(session, batch);
  return { count, landed: own?.slice(0, count) ?? [], left: own?.slice(count) ?? [] };
}

/**
 * Verdict of an operation whose batch is final, with the result to print again. Cancelled before anything of its file landed, the
 * file runs again only with `--again`.
 */
export const verdictOf = (
  entry: Entry,
  stage: CurrentStage,
  batch: Batch,
  { landed, left }: Landings,
  pipelines: readonly Pipeline[],
): Verdict => {
  const elements = pipelineElements(pipelines);
  const { executeResult: result } = batch;
  const isCancelled = batch.dateCancelled !== undefined && stage.at === 0 && landed.length === 0;
  // What others landed since a repeat began is none of its landings.
  const isRepeat = entry.since > 0;
  const isUnlanded = isCancelled && (isRepeat || entry.landed(elements).size === 0);
  return {
    state: left.length === 0 ? 'done' : isUnlanded ? 'cancelled' : 'partial',
    landed: landed.flatMap((index) => elements[index]?.digest ?? []),
    mayLand: batch.dateCancelled === undefined,
    answers: result === undefined ? {} : { [stage.runAnswerName]: { batch, result, left } },
  };
};

/**
 * For commands that name a batch by its id. Its operation in the journal ends too: cancelled if nothing of its file landed, and
 * the file then runs again only with `--again`.
 * @returns how many of its pipelines landed. @throws as {@link concludeStage}
 */
export async function concludeById(session: Session, batch: Batch, ended: Ended): Promise<number> {
  const journal = await (await session.service()).journal();
  const noted = ownBatch(journal.ofBatch(batch.id), batch.id);
  const pipelines = noted?.request.pipelines ?? [];
  const found = await concludeStage(session, noted?.stage, batch, pipelines, ended);
  const entry = journal.takeBatch(batch.id);
  const stage = noted && ownBatch(entry, batch.id)?.stage;
  if (entry !== undefined && stage !== undefined) {
    entry.settle(verdictOf(entry, stage, batch, found, pipelines));
    entry.markPrinted();
  } else if (entry !== undefined && !isOver(entry.state)) {
    // The batch belongs to an earlier stage, which was over before this stage began.
    entry.release();
  }
  return found.count;
}

/** No file if all landed. @throws `ERR_INPUT_INVALID` */
export function writeRest(session: Session, file: OutputFile, left: InitBatchRequest): void {
  if (left.pipelines.length === 0) noteEarlier(session, file);
  else writeOutput(file, `${JSON.stringify(left, null, 1)}\n`);
}

/** The error of a batch that failed or was cancelled; `undefined`: it is executed, or not over. */
export function batchFailure(
  session: Pick<Session, 'settings' | 'context'>,
  { id, status, dateCancelled, executeResult }: Batch,
): FlywheelError | undefined {
  const { total, totalSuccessful = 0, totalFailed = 0, failedTxMsg } = executeResult ?? {};
  if (status !== 'FAILED' && totalFailed === 0 && failedTxMsg === undefined) return undefined;
  const isCancelled = dateCancelled !== undefined;
  const executed = total === undefined ? '' : `: ${totalSuccessful} of ${total} transactions were executed`;
  const says = failedTxMsg === undefined || failedTxMsg === CANCELLED ? undefined : failedTxMsg;
  const reason = says === undefined ? '' : `; ${says.replace(/\.$/, '')}`;
  // Other batches may have landed a part of the file, also where this one landed nothing.
  const rest = `\`${commandLine(session.settings, 'batch', 'run', 'FILE', '--rest')}\``;
  return new FlywheelError(
    'ERR_BATCH_FAILED',
    `Batch ${id} ${isCancelled ? 'was cancelled' : 'failed'}${executed}${reason}.`,
    {
      hint: `${isCancelled ? 'If the rest should still run' : 'Run the rest in a new batch'}: ${rest}${isCancelled ? '' : `. That cancels this one first, so that no member of the multisig can execute it later. To cancel only: ${cancelLine(session, id)}.`}`,
    },
  );
}
