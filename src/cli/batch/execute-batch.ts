/** Executes a batch with the owner's approval on chain, or with one that is signed before or during the command. */

import { parseDigestText } from '../../actions/pipelines.js';
import { isStale } from '../../chain/squads/accounts.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import type { Batch, ExecuteResult, InitBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import { derivedUuid, type Uuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import { cancelLine, nextCommand } from '../hints.js';
import { openInput } from '../input/read-input.js';
import {
  foreseeUnchanged,
  getBatch,
  isFinal,
  locate,
  pipelinesDoneThere,
  seenWithin,
} from '../operation/done-there.js';
import { pipelineElements } from '../operation/elements.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { afterwards, lookedUp, notSent, unread } from '../operation/verdicts.js';
import { type OutputFile, requireFree } from '../output/output-file.js';
import { callWith, isNotOffered, noteReply } from '../send.js';
import { viewExecuteResult } from '../views/batch.js';
import { countText } from '../views/unit.js';
import { batchName } from './approval-source.js';
import type { Signed } from './approve-batch.js';
import { ownBatch } from './batch-stages.js';
import {
  digestOf,
  listedDigest,
  listedPipelines,
  requireChainAgrees,
  requireWillRun,
} from './chain-agrees.js';
import { batchFailure, concludeById, unansweredOf, upToDate, writeRest } from './own-batch.js';
import { refuse } from './pins.js';
import { checkedPipelines } from './pipelines-operation.js';

export interface SignTerms {
  readonly signedTx: string | undefined;
  /** Checks, asks and signs; `null`: no keypair. Resolves to `null` when the approval is on chain. */
  readonly sign: (() => Promise<Signed | null>) | null;
  readonly digest: Sha256 | null;
}

interface ApprovalTerms extends SignTerms {
  /** Stores a signed approval. Called before the approval is sent. */
  readonly keep: (signed: Signed) => void;
  /** An approval may have been sent before this execution. */
  readonly wasSent: boolean;
  /** Looks up what others have landed. @throws where something of this batch has */
  readonly beforeTry: () => Promise<void>;
  key(signedTx: string | undefined): string;
}

const MAX_APPROVALS = 3;

/** A batch that is over, with its result. */
export type Executed = Batch & { readonly executeResult: ExecuteResult };

export const isExecuted = (batch: Batch): batch is Executed =>
  isFinal(batch) && batch.executeResult !== undefined;

/**
 * Executes until the batch is final. A user with only a signed approval may have named no digest; then the chain is compared
 * with the service's own list.
 * @throws `ERR_OUTCOME_UNKNOWN` when the service says that nothing has landed, and the chain that something has.
 */
export async function executeUntilFinal(
  session: Session,
  batch: Batch,
  approval: ApprovalTerms,
): Promise<Executed> {
  const opened = await session.service();
  let { signedTx, wasSent } = approval;
  for (let count = 1; ; count += 1) {
    const signed = signedTx === undefined ? await signNow(session, approval, batch) : undefined;
    signedTx ??= signed?.signedTx;
    wasSent ||= signed === null;
    await requireExpected(session, batch, approval, signed);
    const digest = approval.digest ?? signed?.digest ?? (await listedDigest(session, opened, batch));
    await requireWillRun(opened, batch, digest, wasSent);
    try {
      return await send(session, batch, signedTx, approval);
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_APPROVAL_EXPIRED')) throw error;
      // The chain must confirm that nothing landed before another approval is signed or suggested.
      const total = batch.initResult?.total ?? 0;
      await requireChainAgrees(session, opened, batch, { totalSuccessful: 0, total });
      if (approval.sign === null || count >= MAX_APPROVALS)
        throw error.with({ hint: `Sign a new approval: \`${await nextCommand(session, batch.id)}\`` });
      signedTx = undefined;
      wasSent = true;
    }
  }
}

/** What is signed here is compared before it is; else members may have ended the batch. @throws `ERR_APPROVAL_REFUSED` */
async function requireExpected(
  session: Session,
  batch: Batch,
  { digest }: SignTerms,
  signed: Signed | null = null,
): Promise<void> {
  if (signed !== null) return;
  const listed = digest && (await listedPipelines(session, await session.service(), batch));
  if (listed !== null && digestOf(listed) !== digest)
    throw refuse(
      `The pipelines of batch ${batch.id} are not the expected ones. This command approved nothing.`,
      `Show the batch: \`flywheel batch inspect ${batch.id}\``,
    );
}

/** @param signedTx - `undefined`: the approval must be on chain; if not, the service refuses. */
async function send(
  session: Session,
  { id: batchId }: Batch,
  signedTx: string | undefined,
  { key, beforeTry }: Pick<ApprovalTerms, 'key' | 'beforeTry'>,
): Promise<Executed> {
  const opened = await session.service();
  const call = await lookedUp({ hasAnswers: true }, beforeTry, callWith(session, opened, key(signedTx)));
  session.output.progress.show('executing the batch …');
  const request = signedTx === undefined ? { batchId } : { batchId, signedTx };
  const reply = await opened.service
    .executeBatch(request, call)
    .finally(() => session.output.progress.clear());
  noteReply(session, reply);
  const batch = await afterwards(() => getBatch(session, batchId));
  return { ...batch, executeResult: batch.executeResult ?? reply.value.result };
}

/**
 * Signs if the batch needs an approval and the command can.
 * @returns `undefined`: not signed; `null`: an approval came onto the chain meanwhile. @throws `ERR_APPROVAL_REFUSED` for another batch.
 */
async function signNow(
  session: Session,
  { sign, keep }: ApprovalTerms,
  batch: Batch,
): Promise<Signed | null | undefined> {
  if (sign === null || (await needsNoApproval(session, batch))) return undefined;
  const signed = await sign().catch(async (error: unknown) => {
    // Another command may have approved the batch meanwhile.
    const isRefused = isFlywheelError(error, 'ERR_INVALID_REQUEST');
    if (isRefused && (await needsNoApproval(session, await getBatch(session, batch.id)))) return null;
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
  readonly failedOut: Awaited<ReturnType<typeof failedOutOf>> | null;
}

/** @throws `ERR_BATCH_FAILED` when a transaction did not land. */
export async function executeBatch(session: Session, batchId: Uuid, terms: ExecuteTerms): Promise<void> {
  const { batch, landed } = await repeatable(session, () => execute(session, batchId, terms));
  const { output } = session;
  const { executeResult: result } = batch;
  const { failedOut } = terms;
  if (failedOut !== null) {
    const { file, request } = failedOut;
    const left = batch.status === 'EXECUTED' ? [] : request?.pipelines.slice(landed);
    if (left !== undefined) writeRest(session, file, { ...request, pipelines: left });
    else output.warn(`${file.path} was not written: this machine does not have the pipelines of the batch.`);
  }
  const failure = batchFailure(session, batch);
  output.result({ batchId, result }, (style) => {
    const end = batch.dateCancelled === undefined ? 'failed' : 'was cancelled';
    const head = failure
      ? style.bad(`Batch ${batchId} ${end}.`)
      : style.good(`Batch ${batchId} is executed.`);
    return viewExecuteResult(result, head, style);
  });
  if (failure !== undefined) throw failure;
}

async function execute(
  session: Session,
  batchId: Uuid,
  terms: ExecuteTerms,
): Promise<{ readonly batch: Executed; readonly landed: number }> {
  const before = await upToDate(session, await getBatch(session, batchId).catch(unread));
  if (isExecuted(before)) {
    session.output.tell(`The batch ended on ${before.dateUpdated}. Nothing was sent.`);
    const { digest } = terms;
    await requireExpected(session, before, terms);
    // Without a keypair, an approval of this user may have been sent by another command.
    const approved = { digest, wasSent: terms.sign === null };
    return { batch: before, landed: await concludeById(session, before, { approved }) };
  }
  if (terms.failedOut !== null) requireFree(terms.failedOut.file);
  const seen = seenWithin(session);
  if (!terms.again) await requireNotLandedElsewhere(session, before).catch(unread);
  let { digest } = terms;
  const batch = await executeUntilFinal(session, before, {
    ...terms,
    keep: (signed) => {
      digest ??= signed.digest;
    },
    wasSent: false,
    beforeTry: () =>
      seen(async () => {
        if (!terms.again) await requireNotLandedElsewhere(session, before);
        return true;
      }),
    // The first request uses the user's key.
    key: (signedTx) =>
      terms.key !== undefined && signedTx === terms.signedTx
        ? terms.key
        : derivedUuid(batchId, 'execute', signedTx ?? ''),
  });
  const approved = { digest, wasSent: true };
  return { batch, landed: await afterwards(() => concludeById(session, batch, { approved })) };
}

/**
 * True when the batch is over, or the owner's approval is on the user's chain. False without a chain.
 * @throws `ERR_APPROVAL_REFUSED` for a batch that no approval helps any more
 */
export async function needsNoApproval(session: Session, batch: Batch): Promise<boolean> {
  const { chain, pins } = await session.service();
  if (chain === null || pins === null) return false;
  if (isFinal(batch)) return true;
  if (batch.status !== 'FINALIZED') return false;
  const { multisig } = pins;
  const { batchIndex } = batchName(batch);
  const found = await readBatchAccounts(chain, { multisig, batchIndex }, 0);
  const proposal = found.proposal.value;
  // The multisig created this batch, and its accounts are closed.
  if (proposal === null) return (found.multisig.value?.transactionIndex ?? 0n) >= batchIndex;
  const { kind } = proposal.status;
  if (kind === 'Active' && found.multisig.value !== null && isStale(found.multisig.value, batchIndex))
    throw refuse(
      `The multisig changed after the set-up of batch ${batch.id} began, so the batch can no longer be approved, only cancelled.`,
      `Cancel it: ${cancelLine(session, batch.id)}`,
    );
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
    if (isFlywheelError(error, 'ERR_INVALID_REQUEST')) return false;
    if (!isNotOffered(error)) throw error;
    throw new FlywheelError(
      'ERR_NOT_FOUND',
      'This service does not accept an approval that is already on chain. It needs the signed approval in the request.',
      {
        hint: `Sign with a keypair: add --keypair FILE to \`${commandLine(session.settings, 'batch', 'execute', batchId)}\`.`,
      },
    );
  }
}

/**
 * No service returns pipelines in full: they come from the journal or the file of `--expect`.
 * @returns with `request: null` when this machine does not have it. @throws `ERR_INPUT_INVALID`
 */
export async function failedOutOf(
  session: Session,
  batchId: string,
  file: OutputFile,
  expect: string | undefined,
): Promise<{ readonly file: OutputFile; readonly request: InitBatchRequest | null }> {
  const own = ownBatch((await (await session.service()).journal()).ofBatch(batchId), batchId);
  if (own !== undefined) return { file, request: own.part };
  if (expect !== undefined && parseDigestText(expect) === undefined) {
    const input = await openInput(session.context, expect);
    return { file, request: await checkedPipelines(session, input, false) };
  }
  // A final batch sends nothing, so its result is printed without the file.
  if (isFinal(await getBatch(session, batchId))) return { file, request: null };
  throw notSent(
    `--failed-out: this machine does not have the pipelines of batch ${batchId}.`,
    'Add --expect with the pipelines file.',
  );
}

/** A pipeline may have landed in another batch since the set-up. @throws `ERR_INPUT_INVALID`; nothing was sent then. */
async function requireNotLandedElsewhere(session: Session, batch: Batch): Promise<void> {
  await locate(session);
  const entry = (await (await session.service()).journal()).ofBatch(batch.id);
  const body = entry?.body();
  if (entry === undefined || body === undefined) return requireFirst(session, batch);
  if (!entry.isToldApart) return;
  // The same check as in `batch run`, which knows the whole file.
  const { pipelines } = JSON.parse(body) as InitBatchRequest;
  const elements = pipelineElements(pipelines);
  const looked = { ask: pipelinesDoneThere(session, pipelines), elements };
  await foreseeUnchanged(session, entry, looked, unansweredOf(entry, elements));
}

/** For a batch whose file this machine does not have. @throws as {@link requireNotLandedElsewhere} */
async function requireFirst(session: Session, batch: Batch): Promise<void> {
  const own = await listedPipelines(session, await session.service(), batch);
  const there = own && (await pipelinesDoneThere(session, own, ({ proofHash }) => proofHash)([]));
  // A list without the batch itself proves nothing.
  if (own === null || !there?.found.some(({ id }) => id === batch.id))
    return session.output.tell(
      'This service cannot be asked whether another batch already landed these pipelines.',
    );
  // Members may have executed a waiting batch meanwhile, or may still do so.
  const others = new Map<string, number>();
  for (const { id, element } of there.found)
    if (id !== batch.id) others.set(element.subject, (others.get(element.subject) ?? 0) | element.kinds);
  const twice = pipelineElements(own).filter(
    ({ subject, kinds }) => ((others.get(subject) ?? 0) & kinds) !== 0,
  ).length;
  if (twice === 0) return;
  throw notSent(
    `${twice} of ${countText(own.length, 'pipeline')} of batch ${batch.id} landed in another batch, or wait there.`,
    `Cancel this batch: ${cancelLine(session, batch.id)}. --again executes it anyway.`,
  );
}
