/** Executes a batch with the owner's approval on chain, or with one that is signed before or during the command. */
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch, ExecuteBatchRequest, ExecuteResult } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid } from '../../values/ids.js';
import type { Uuid } from '../../values/uuid.js';
import type { Session } from '../command.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { getBatch, isFinal } from '../operation/service-record.js';
import { requireFree } from '../output/output-file.js';
import { callWith, isNotOffered, noteReply } from '../send.js';
import { statusOf, viewExecuteResult } from '../views/batch.js';
import { batchName } from './approval-source.js';
import type { Signed } from './approve-batch.js';
import { type FailedOut, requireNotLandedElsewhere, settleBatch } from './batch-entry.js';
import type { RunResult } from './batch-stages.js';
import {
  landedPipelines,
  listedDigest,
  requireChainAgrees,
  requireRanAsApproved,
  requireWillRun,
} from './chain-agrees.js';
import { upToDate } from './initiate.js';
import { refuse } from './pins.js';
import { writeRest } from './pipelines-work.js';

export interface SignTerms {
  readonly signedTx: string | undefined;
  /** Checks, asks and signs; `null`: no keypair. Resolves to `null` when the approval is on chain. */
  readonly sign: (() => Promise<Signed | null>) | null;
  readonly digest: Sha256 | null;
}

interface ApprovalTerms extends SignTerms {
  /** Stores a signed approval. Called before the approval is sent. */
  readonly keep: (signed: Signed) => void;
  /** True if an approval may have been sent before this execution. */
  wasSent(): boolean;
  key(signedTx: string | undefined): string;
}

const MAX_APPROVALS = 3;

/** Without `signedTx` the approval must be on chain; if not, the service refuses. */
const requestOf = ({ id }: Batch, signedTx: string | undefined): ExecuteBatchRequest =>
  signedTx === undefined ? { batchId: id } : { batchId: id, signedTx };

/**
 * Executes until the batch is final. A user with only a signed approval may have named no digest; then the chain is compared
 * with the service's own list.
 * @returns the result according to the service.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service says that nothing has landed, and the chain that something has.
 */
export async function executeUntilFinal(
  session: Session,
  batch: Batch,
  approval: ApprovalTerms,
): Promise<ExecuteResult> {
  const opened = await session.service();
  const { progress } = session.output;
  let { signedTx } = approval;
  for (let count = 1; ; count += 1) {
    const signed = await signNow(session, approval, batch, signedTx);
    signedTx ??= signed?.signedTx;
    const digest = approval.digest ?? signed?.digest ?? (await listedDigest(session, opened, batch));
    await requireWillRun(opened, batch, digest, approval.wasSent() || count > 1);
    try {
      progress.show('executing the batch …');
      const call = callWith(session, opened, approval.key(signedTx));
      const reply = await opened.service.executeBatch(requestOf(batch, signedTx), call);
      noteReply(session, reply);
      return reply.value.result;
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_APPROVAL_EXPIRED')) throw error;
      // The chain must confirm that nothing landed before another approval is signed or suggested.
      const total = batch.initResult?.total ?? 0;
      await requireChainAgrees(session, opened, batch, { totalSuccessful: 0, total });
      if (approval.sign === null || count >= MAX_APPROVALS) throw error;
      signedTx = undefined;
    } finally {
      progress.clear();
    }
  }
}

/** Signs if no approval exists, the batch needs one and the command can. @throws `ERR_APPROVAL_REFUSED` for another batch. */
async function signNow(
  session: Session,
  { sign, keep }: ApprovalTerms,
  batch: Batch,
  signedTx: string | undefined,
): Promise<Signed | null> {
  if (signedTx !== undefined || sign === null || (await needsNoApproval(session, batch.id, batch)))
    return null;
  const signed = await sign().catch(async (error: unknown) => {
    // Another command may have approved the batch meanwhile.
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

interface ExecuteTerms extends SignTerms {
  readonly key: string | undefined;
  /** Execute also pipelines that landed in another batch. */
  readonly again: boolean;
  readonly failedOut: FailedOut | null;
}

/** @throws `ERR_BATCH_FAILED` when a transaction did not land. */
export async function executeBatch(session: Session, batchId: Uuid, terms: ExecuteTerms): Promise<void> {
  const { batch, result, left } = await repeatable(session, () => execute(session, batchId, terms));
  const { output } = session;
  const { failedOut } = terms;
  if (failedOut?.pipelines) writeRest(session, failedOut.file, failedOut.pipelines, left);
  else if (failedOut !== null)
    output.warn(
      `${failedOut.file.path} was not written: this machine does not have the pipelines of the batch.`,
    );
  const failure = batchFailure(session, batch, result);
  output.result({ batchId, result }, (style) => {
    const isDone = failure === undefined;
    const head = isDone
      ? style.good(`Batch ${batch.id} is executed.`)
      : style.bad(`Batch ${batch.id} failed.`);
    return viewExecuteResult(result, head, style);
  });
  if (failure !== undefined) throw failure;
}

async function execute(session: Session, batchId: Uuid, terms: ExecuteTerms): Promise<RunResult> {
  const before = await upToDate(session, await getBatch(session, batchId));
  if (isFinal(before) && before.executeResult !== undefined) {
    session.output.tell(`Batch ${batchId}: ${statusOf(before)} (${before.dateUpdated}). Nothing was sent.`);
    const listed = terms.digest && (await listedDigest(session, await session.service(), before));
    if (listed !== null && listed !== terms.digest)
      throw refuse(
        `Batch ${batchId} is finished, and its pipelines are not the expected ones. This command approved nothing.`,
        `Show what the batch did: \`flywheel batch inspect ${batchId}\``,
      );
    // Without a keypair, an approval of this user may have been sent by another command.
    return conclude(session, before, before.executeResult, terms, terms.sign === null);
  }
  if (terms.failedOut !== null) requireFree(terms.failedOut.file);
  if (!terms.again) await requireNotLandedElsewhere(session, before);
  let { digest } = terms;
  const result = await executeUntilFinal(session, before, {
    ...terms,
    keep: (signed) => {
      digest ??= signed.digest;
    },
    wasSent: () => false,
    // The first request uses the user's key.
    key: (signedTx) =>
      terms.key !== undefined && signedTx === terms.signedTx
        ? terms.key
        : derivedUuid(batchId, 'execute', signedTx ?? ''),
  });
  return conclude(session, await getBatch(session, batchId), result, { ...terms, digest }, true);
}

/** @returns `left` is filled only for `--failed-out`. */
async function conclude(
  session: Session,
  batch: Batch,
  result: ExecuteResult,
  { digest, failedOut }: ExecuteTerms,
  wasSent: boolean,
): Promise<RunResult> {
  const opened = await session.service();
  await requireChainAgrees(session, opened, batch, result);
  await requireRanAsApproved(session, opened, batch, result, digest, wasSent);
  await settleBatch(session, batch);
  // Landed pipelines come from service and chain together; a contradiction throws before the file is written.
  const all = [...(failedOut?.pipelines ?? []).keys()];
  if (all.length === 0) return { batch, result, left: [] };
  const landed = await landedPipelines(session, { wasSetUp: true }, batch, all.length);
  return { batch, result, left: all.slice(landed.length) };
}

/** True when the batch is over, or the owner's approval is on the user's chain. False without a chain. */
export async function needsNoApproval(session: Session, batchId: string, known?: Batch): Promise<boolean> {
  const { chain, pins } = await session.service();
  if (chain === null || pins === null) return false;
  const batch = known ?? (await getBatch(session, batchId));
  if (isFinal(batch)) return true;
  if (batch.status !== 'FINALIZED') return false;
  const { multisig } = pins;
  const { batchIndex } = batchName(batch);
  const found = await readBatchAccounts(chain, { multisig, batchIndex }, 0);
  const proposal = found.proposal.value;
  // The multisig created this batch, and its accounts are closed.
  if (proposal === null) return (found.multisig.value?.transactionIndex ?? 0n) >= batchIndex;
  const { kind } = proposal.status;
  return (kind !== 'Draft' && kind !== 'Active') || proposal.approved.includes(pins.owner);
}

/**
 * Requires a service that executes with an approval on chain: one that issues fresh ones (contract, section 1.7).
 * @returns whether the batch still needs the approval, according to the service. @throws `ERR_NOT_FOUND`
 */
export async function requireExecutesFromChain(session: Session, batchId: Uuid): Promise<boolean> {
  const opened = await session.service();
  try {
    await opened.service.issueApproval({ batchId }, callWith(session, opened));
    return true;
  } catch (error) {
    if (!isNotOffered(error)) {
      if (isFlywheelError(error, 'ERR_INVALID_REQUEST')) return false;
      throw error;
    }
    throw new FlywheelError(
      'ERR_NOT_FOUND',
      'This service does not accept an approval that is already on chain. It needs the signed approval in the request.',
      {
        hint: `Sign with a keypair: ${commandLine(session.settings, 'batch', 'execute', batchId)} --keypair FILE`,
      },
    );
  }
}

export const batchFailure = (
  session: Pick<Session, 'settings'>,
  batch: Pick<Batch, 'id' | 'dateCancelled'>,
  result: ExecuteResult,
): FlywheelError | undefined =>
  result.totalFailed === 0 && result.failedTxMsg === undefined
    ? undefined
    : failedBatch(session, batch, result);

export function failedBatch(
  { settings }: Pick<Session, 'settings'>,
  { id, dateCancelled }: Pick<Batch, 'id' | 'dateCancelled'>,
  result: ExecuteResult | undefined,
): FlywheelError {
  const reason = result?.failedTxMsg === undefined ? '' : `; ${result.failedTxMsg.replace(/\.$/, '')}`;
  const executed =
    result === undefined ? '' : `: ${result.totalSuccessful} of ${result.total} transactions were executed`;
  const run = (how: string) => `\`${commandLine(settings, 'batch', 'run', 'FILE', how)}\``;
  const rest = run('--rest');
  const cancel = `\`${commandLine(settings, 'batch', 'cancel', id)}\``;
  return new FlywheelError(
    'ERR_BATCH_FAILED',
    `Batch ${id} ${dateCancelled === undefined ? 'failed' : 'was cancelled'}${executed}${reason}.`,
    {
      hint:
        dateCancelled === undefined
          ? `Run the rest in a new batch: ${rest}. That cancels this one first, because a member of the multisig can still execute it. To cancel only: ${cancel}.`
          : result === undefined || result.totalSuccessful === 0
            ? `Run the file in a new batch: ${run('--again')}`
            : `Run the rest in a new batch: ${rest}`,
    },
  );
}
