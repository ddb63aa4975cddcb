/** Executes a batch under an approval that is kept, and with another one when that has expired. */
import type { BatchDescription } from '../../approval/read-batch.js';
import type { Batch, ExecuteBatchRequest, ExecuteResult } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { callWith, noteReply } from '../send.js';
import type { Signed } from './approve-batch.js';
import { needsNoApproval } from './approved-on-chain.js';
import { requireChainCatchesUp } from './catch-up.js';
import { requireWillRun } from './hold-digest.js';
import { listedDigest } from './landed-pipelines.js';
import { refuse } from './pins.js';

/** The approval that an execution goes by. */
export interface KeptApproval {
  /** Base64; `undefined`: none yet. */
  current(): string | undefined;
  /** May one have been sent before? */
  readonly wasSent: boolean;
  /** Go on where what will run cannot be looked at. */
  readonly allowUnverified: boolean;
  /** Signs one, if this command can. */
  readonly sign: (() => Promise<Signed>) | null;
  /** Keeps one before it is sent. */
  readonly keep: (signed: Signed) => void;
  /** What has been approved, as far as that is known. */
  digest(): Sha256 | null;
  /** The idempotency key of an execute with it, or with none. */
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
  approval: KeptApproval,
): Promise<ExecuteResult> {
  const opened = await session.service();
  let signedTx = approval.current();
  let reviewed: BatchDescription | null = null;
  for (let count = 1; ; count += 1) {
    if (signedTx === undefined) {
      const signed = await signNow(session, approval, batch);
      signedTx = signed?.signedTx;
      reviewed = signed?.description ?? null;
    }
    const { allowUnverified } = approval;
    const sending = { wasSent: approval.wasSent || count > 1, allowUnverified, reviewed };
    const digest = await digestOf(session, opened, batch, approval);
    await requireWillRun(session, opened, batch, digest, sending);
    const request = requestOf(batch, signedTx);
    session.output.progress.show('executing the batch …');
    try {
      const call = callWith(session, opened, approval.key(signedTx));
      const reply = await opened.service.executeBatch(request, call);
      session.output.progress.clear();
      noteReply(session, reply);
      return reply.value.result;
    } catch (error) {
      session.output.progress.clear();
      if (!isFlywheelError(error, 'ERR_APPROVAL_EXPIRED')) throw error;
      // Whether the last one has landed after all is asked before another is signed, or a hint says to.
      await requireChainCatchesUp(session, opened, batch, {
        totalSuccessful: 0,
        total: batch.initResult?.total ?? 0,
      });
      if (approval.sign === null || count >= MAX_APPROVALS) throw error;
      signedTx = undefined;
    }
  }
}

/** Who only brings a signed approval may have said nothing of the content: then it is what the service says it set up. */
const digestOf = async (
  session: Session,
  opened: OpenedService,
  batch: Batch,
  approval: KeptApproval,
): Promise<Sha256 | null> => approval.digest() ?? listedDigest(session, opened, batch);

/** Signs one and keeps it, if this command can and one is needed. @throws `ERR_APPROVAL_REFUSED` where it is of another batch. */
async function signNow(
  session: Session,
  { sign, keep }: KeptApproval,
  batch: Batch,
): Promise<Signed | undefined> {
  if (sign === null || (await needsNoApproval(session, batch.id, batch))) return undefined;
  const signed = await sign();
  if (String(signed.batchIndex) !== batch.batchIndex)
    throw refuse(
      `The service says that batch ${batch.id} is number ${batch.batchIndex}, and asks for an approval of number ${signed.batchIndex}. Nothing was sent.`,
    );
  keep(signed);
  return signed;
}
