/** How a batch ended, the same for `run`, `execute`, `cancel` and a rest: checked against the user's chain, then noted here. */
import { CANCELLED } from '../../contract/call.js';
import type { Batch, InitBatchRequest, Pipeline } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { cancelLine } from '../hints.js';
import { type Entry, isOver, type Verdict } from '../journal/journal.js';
import { pipelineElements } from '../operation/elements.js';
import { commandLine } from '../operation/resume-line.js';
import { noteEarlier, type OutputFile, writeOutput } from '../output/output-file.js';
import { noteExecuted } from './approval-limits.js';
import { type CurrentStage, ownBatch } from './batch-stages.js';
import { type Approved, type KnownBatch, landedCount, requireRanAsApproved } from './chain-agrees.js';

/**
 * @param approved - `undefined`: nothing is said of what ran, only how much.
 * @returns how many pipelines landed: always the first ones, because a multisig executes in order.
 * @throws `ERR_OUTCOME_UNKNOWN` where service and chain disagree; as {@link requireRanAsApproved}
 */
async function concludeBatch(
  session: Session,
  batch: Batch,
  known: KnownBatch,
  approved: Approved | undefined,
): Promise<number> {
  const landed = await landedCount(session, batch, known);
  if (approved !== undefined)
    await requireRanAsApproved(session, await session.service(), batch, landed, approved);
  await noteExecuted(session, batch);
  return landed;
}

/** Indexes in the file of a stage's pipelines. */
interface Landings {
  readonly landed: readonly number[];
  readonly left: readonly number[];
}

const landingsOf = (stage: CurrentStage, all: readonly unknown[], count: number): Landings => {
  const own = stage.indexes(all);
  return { landed: own.slice(0, count), left: own.slice(count) };
};

/** @param all - pipelines of the whole file. @throws as {@link concludeBatch} */
export async function concludeStage(
  session: Session,
  stage: CurrentStage,
  batch: Batch,
  all: readonly unknown[],
  approved?: Approved,
): Promise<Landings> {
  const known = { wasSetUp: stage.wasSetUp, size: stage.indexes(all).length };
  return landingsOf(stage, all, await concludeBatch(session, batch, known, approved));
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
 * @returns how many of its pipelines landed. @throws as {@link concludeBatch}
 */
export async function concludeById(
  session: Session,
  batch: Batch,
  { approved, ...known }: KnownBatch & { readonly approved?: Approved },
): Promise<number> {
  const journal = await (await session.service()).journal();
  const noted = ownBatch(journal.ofBatch(batch.id), batch.id);
  const size = noted && { size: noted.stage.indexes(noted.request.pipelines).length };
  const wasSetUp = noted?.stage.wasSetUp === true ? { wasSetUp: true } : {};
  const count = await concludeBatch(session, batch, { ...known, ...wasSetUp, ...size }, approved);
  const entry = journal.takeBatch(batch.id);
  const own = ownBatch(entry, batch.id);
  if (entry === undefined) return count;
  if (own === undefined) {
    // The batch belongs to an earlier stage, which was over before this stage began.
    if (!isOver(entry.state)) entry.release();
    return count;
  }
  const { stage } = own;
  const { pipelines } = own.request;
  entry.settle(verdictOf(entry, stage, batch, landingsOf(stage, pipelines, count), pipelines));
  entry.markPrinted();
  return count;
}

/** No file if all landed. @throws `ERR_INPUT_INVALID` */
export function writeRest(session: Session, file: OutputFile, left: InitBatchRequest): void {
  if (left.pipelines.length === 0) noteEarlier(session, file);
  else writeOutput(file, `${JSON.stringify(left, null, 1)}\n`);
}

/** The error of a batch that failed or was cancelled; `undefined`: it is executed, or not over. */
export function batchFailure(
  { settings }: Pick<Session, 'settings'>,
  { id, status, dateCancelled, executeResult }: Batch,
): FlywheelError | undefined {
  const { total, totalSuccessful = 0, totalFailed = 0, failedTxMsg } = executeResult ?? {};
  if (status !== 'FAILED' && totalFailed === 0 && failedTxMsg === undefined) return undefined;
  const isCancelled = dateCancelled !== undefined;
  const executed = total === undefined ? '' : `: ${totalSuccessful} of ${total} transactions were executed`;
  const says = failedTxMsg === undefined || failedTxMsg === CANCELLED ? undefined : failedTxMsg;
  const reason = says === undefined ? '' : `; ${says.replace(/\.$/, '')}`;
  // Other batches may have landed a part of the file, also where this one landed nothing.
  const rest = `\`${commandLine(settings, 'batch', 'run', 'FILE', '--rest')}\``;
  return new FlywheelError(
    'ERR_BATCH_FAILED',
    `Batch ${id} ${isCancelled ? 'was cancelled' : 'failed'}${executed}${reason}.`,
    {
      hint: `Run the rest in a new batch: ${rest}${isCancelled ? '' : `. That cancels this one first, so that no member of the multisig can execute it later. To cancel only: ${cancelLine(settings, id)}.`}`,
    },
  );
}
