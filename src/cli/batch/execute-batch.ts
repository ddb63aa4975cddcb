/** Executes a batch: under the owner's approval that stands on chain, or one that is signed before or now. */
import type { BatchDescription } from '../../approval/read-batch.js';
import type { Batch, ExecuteBatchRequest, ExecuteResult, Pipeline } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import type { Uuid } from '../../values/uuid.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { repeatable } from '../operation/repeatable.js';
import { type OutputFile, requireFree } from '../output/output-file.js';
import { callWith, noteReply } from '../send.js';
import { viewExecuteResult } from '../views/batch.js';
import type { Signed } from './approve-batch.js';
import { needsNoApproval } from './approved-on-chain.js';
import { batchFailure } from './batch-failure.js';
import { requireChainCatchesUp } from './catch-up.js';
import { requireRanAsApproved, requireWillRun } from './hold-digest.js';
import { getBatch, isFinal, upToDate } from './initiate.js';
import { requireNotLandedElsewhere } from './landed-elsewhere.js';
import { landedPipelines, listedDigest } from './landed-pipelines.js';
import { refuse } from './pins.js';
import { writeRest } from './rest-file.js';
import { settleBatch } from './settle-batch.js';

/** The approval that an execution goes by. */
interface ApprovalTerms {
  /** Signed before, base64; `undefined`: none yet. */
  readonly signedTx: string | undefined;
  /** Checks, asks and signs; `null` where the command has no keypair. */
  readonly sign: (() => Promise<Signed>) | null;
  /** Notes one before it is sent. */
  readonly keep: (signed: Signed) => void;
  /** Digest of what the batch is to hold, as far as the user has said. */
  readonly digest: Sha256 | null;
  /** An approval may have been sent before. */
  readonly wasSent: boolean;
  /** The idempotency key of an execute with an approval, or with none. */
  key(signedTx: string | undefined): string;
}

/** Times that an approval is signed again because the last one has expired. */
const MAX_APPROVALS = 3;

/** Without a signed approval the owner's stands on chain, or the service says that it does not. */
const requestOf = ({ id }: Batch, signedTx: string | undefined): ExecuteBatchRequest =>
  signedTx === undefined ? { batchId: id } : { batchId: id, signedTx };

/**
 * @returns how it ended, as the service says.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service says that nothing has landed, and the chain that something has.
 */
export async function executeUntilFinal(
  session: Session,
  batch: Batch,
  approval: ApprovalTerms,
): Promise<ExecuteResult> {
  const opened = await session.service();
  let { signedTx } = approval;
  for (let count = 1; ; count += 1) {
    const signed = await signNow(session, approval, batch, signedTx);
    signedTx ??= signed?.signedTx;
    const reviewed = signed?.description ?? null;
    const digest = approval.digest ?? (await approvedDigest(session, opened, batch, reviewed));
    await requireWillRun(opened, batch, digest, { wasSent: approval.wasSent || count > 1, reviewed });
    try {
      return await executeWith(session, opened, requestOf(batch, signedTx), approval.key(signedTx));
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_APPROVAL_EXPIRED')) throw error;
      // Whether the last one has landed after all is asked before another is signed, or a hint says to.
      const total = batch.initResult?.total ?? 0;
      await requireChainCatchesUp(session, opened, batch, { totalSuccessful: 0, total });
      if (approval.sign === null || count >= MAX_APPROVALS) throw error;
      signedTx = undefined;
    }
  }
}

/** Who only brings a signed approval may have said nothing of the content: then it is what the service says it set up. */
const approvedDigest = async (
  session: Session,
  opened: OpenedService,
  batch: Batch,
  reviewed: BatchDescription | null,
): Promise<Sha256 | null> => reviewed?.digest ?? listedDigest(session, opened, batch);

async function executeWith(
  session: Session,
  opened: OpenedService,
  request: ExecuteBatchRequest,
  key: string,
): Promise<ExecuteResult> {
  const { progress } = session.output;
  progress.show('executing the batch …');
  try {
    const reply = await opened.service.executeBatch(request, callWith(session, opened, key));
    noteReply(session, reply);
    return reply.value.result;
  } finally {
    progress.clear();
  }
}

/** Signs an approval and keeps it, if this command can and none is there or needed. @throws `ERR_APPROVAL_REFUSED` where it is of another batch. */
async function signNow(
  session: Session,
  { sign, keep }: ApprovalTerms,
  batch: Batch,
  signedTx: string | undefined,
): Promise<Signed | null> {
  if (signedTx !== undefined || sign === null || (await needsNoApproval(session, batch.id, batch)))
    return null;
  const signed = await sign().catch(async (error: unknown) => {
    // Somebody may have approved it since, with this very command for example.
    const isRefused = isFlywheelError(error, 'ERR_INVALID_REQUEST');
    if (isRefused && (await needsNoApproval(session, batch.id))) return null;
    throw error;
  });
  if (signed === null) return null;
  if (String(signed.batchIndex) !== batch.batchIndex)
    throw refuse(
      `The service says that batch ${batch.id} is number ${batch.batchIndex}, but the approval is for number ${signed.batchIndex}. Nothing was sent.`,
    );
  keep(signed);
  return signed;
}

/** How `batch execute` was asked for. */
export interface ExecuteTerms extends Pick<ApprovalTerms, 'signedTx' | 'sign' | 'digest'> {
  /** The user's own idempotency key. */
  readonly key: string | undefined;
  /** Execute also what has landed by another batch. */
  readonly again: boolean;
  /** File for the pipelines that did not land; `null`: not asked for. */
  readonly failedOut: FailedOut | null;
}

/** Where to write what did not land, of the pipelines of the batch; `null` where these are not known. */
export interface FailedOut {
  readonly file: OutputFile;
  readonly pipelines: readonly Pipeline[] | null;
}

/** How it ended, with the batch as it is then. */
interface Executed {
  readonly batch: Batch;
  readonly result: ExecuteResult;
  /** Indexes of what has not landed, where a file of it is asked for. */
  readonly left: readonly number[];
}

/** Executes, and prints. @throws `ERR_BATCH_FAILED` where not all of it landed. */
export async function executeBatch(session: Session, batchId: Uuid, terms: ExecuteTerms): Promise<void> {
  const { batch, result, left } = await repeatable(session, () => execute(session, batchId, terms));
  const { output } = session;
  if (terms.failedOut !== null) writeLeft(session, terms.failedOut, left);
  const failure = batchFailure(session, batch, result);
  output.result({ batchId, result }, (style) => [
    failure === undefined
      ? style.good(`Batch ${batch.id} is executed.`)
      : style.bad(`Batch ${batch.id} failed.`),
    ...viewExecuteResult(result, style),
  ]);
  if (failure !== undefined) throw failure;
}

async function execute(session: Session, batchId: Uuid, terms: ExecuteTerms): Promise<Executed> {
  const before = await upToDate(session, await getBatch(session, batchId));
  if (isFinal(before) && before.executeResult !== undefined) {
    session.output.tell(
      `Batch ${batchId} is ${before.status} since ${before.dateUpdated}. Nothing was sent.`,
    );
    // Without a keypair it may have been asked for what was approved elsewhere.
    return conclude(session, before, before.executeResult, terms, terms.sign === null);
  }
  if (terms.failedOut !== null) requireFree(terms.failedOut.file);
  if (!terms.again) await requireNotLandedElsewhere(session, before);
  let approved = terms.digest;
  const result = await executeUntilFinal(session, before, {
    ...terms,
    keep: ({ description }) => {
      approved ??= description.digest;
    },
    wasSent: false,
    // The first goes out under the key that the user has given.
    key: (signedTx) =>
      terms.key !== undefined && signedTx === terms.signedTx
        ? terms.key
        : derivedUuid(batchId, 'execute', signedTx ?? ''),
  });
  const batch = await getBatch(session, batchId);
  return conclude(session, batch, result, { ...terms, digest: approved }, true);
}

async function conclude(
  session: Session,
  batch: Batch,
  result: ExecuteResult,
  { digest, failedOut }: ExecuteTerms,
  wasSent: boolean,
): Promise<Executed> {
  const opened = await session.service();
  await requireChainCatchesUp(session, opened, batch, result);
  await requireRanAsApproved(session, opened, batch, result, digest, wasSent);
  await settleBatch(session, batch);
  // As service and chain both say: of what is not known nothing is written.
  const pipelines = failedOut?.pipelines ?? [];
  const landed =
    pipelines.length === 0
      ? new Set<number>()
      : new Set(await landedPipelines(session, { wasSetUp: true }, batch, pipelines.length));
  const left = pipelines.flatMap((_, index) => (landed.has(index) ? [] : [index]));
  return { batch, result, left };
}

function writeLeft(session: Session, { file, pipelines }: FailedOut, left: readonly number[]): void {
  if (pipelines !== null) writeRest(session, file, pipelines, left);
  else
    session.output.warn(
      `${file.path} was not written: this machine does not know the pipelines of the batch.`,
    );
}
