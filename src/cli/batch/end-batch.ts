/**
 * Cancels what is left of a batch. The owner signs exactly one vote on this batch, shown and agreed to before, and nothing
 * else.
 */

import { checkVote } from '../../approval/check-vote.js';
import { isStale } from '../../chain/squads/accounts.js';
import { addSignature, type KeypairSigner } from '../../chain/transaction/sign.js';
import type { Batch } from '../../contract/schemas/batch.js';
import type { InputOf } from '../../contract/service.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Session } from '../command.js';
import { requireConsent, showSubject } from '../consent.js';
import type { OpenedService } from '../context.js';
import { getBatch, isEnded } from '../operation/done-there.js';
import { repeatable } from '../operation/resume-line.js';
import { afterwards, unread } from '../operation/verdicts.js';
import { callWith, isNotOffered, noteReply } from '../send.js';
import { viewBatch } from '../views/batch.js';
import { viewBatchContent } from '../views/batch-content.js';
import { countText } from '../views/unit.js';
import { decodeBase64 } from './approval-source.js';
import { accountsOnChain, isSetUp } from './chain-agrees.js';
import { concludeById } from './own-batch.js';
import { requireChain, requireOwner, requirePins } from './pins.js';
import { type Look, lookAtBatch, unitOf } from './review.js';

/** The proposal may change between votes, so one batch can need several. */
const MAX_VOTES = 3;

/** @param signer - called only when the owner's vote is needed. @param owner - of the keypair option */
export async function cancelBatch(
  session: Session,
  batchId: string,
  signer: () => Promise<KeypairSigner>,
  owner: Address | null,
): Promise<void> {
  const [before, batch] = await repeatable(session, async () => {
    const before = await getBatch(session, batchId).catch(unread);
    const { pins } = await session.service();
    if (pins !== null && owner !== null && !(await needsNoVote(session, before))) requireOwner(pins, owner);
    const conclude = (batch: Batch) =>
      concludeById(session, batch, { wasSetUp: before.status === 'FINALIZED' || isSetUp(batch) });
    // Another machine may have executed it, and this journal still has it as waiting.
    if (before.status === 'EXECUTED') await conclude(before);
    const ended = await endBatch(session, before, signer);
    await afterwards(() => conclude(ended));
    return [before, ended];
  });
  if (before.dateCancelled !== undefined)
    session.output.tell(`Batch ${batch.id} was already cancelled (${before.dateCancelled}).`);
  const wasExecuted = batch.status === 'EXECUTED';
  if (wasExecuted)
    session.output.tell(`All of batch ${batch.id} was already executed. Nothing was left to cancel.`);
  const text = `Batch ${batch.id} is cancelled. No further transaction of the batch can be executed.`;
  session.output.result(batch, (style) => [
    ...(wasExecuted ? [] : [style.good(text)]),
    ...viewBatch(batch, style),
  ]);
}

/** A stale batch needs no vote: the owner may have changed since its set-up. */
async function needsNoVote(session: Session, batch: Batch): Promise<boolean> {
  const multisig = (await accountsOnChain(session, batch))?.multisig.value;
  return multisig != null && isStale(multisig, BigInt(batch.batchIndex));
}

/**
 * Shows what is left of a batch, asks, and cancels it.
 * @returns the batch, which is over.
 * @throws `ERR_APPROVAL_REFUSED`, `ERR_DECLINED`; `ERR_NOT_FOUND` from a service without this operation.
 */
export async function endBatch(
  session: Session,
  batch: Batch,
  signer: () => Promise<KeypairSigner>,
): Promise<Batch> {
  const { id: batchId } = batch;
  const opened = await session.service();
  if (!isEnded(batch)) await agree(session, opened, batch);
  let request: InputOf<'cancelBatch'> = { batchId };
  for (let votes = 0; votes <= MAX_VOTES; votes += 1) {
    session.output.progress.show('cancelling the batch …');
    const reply = await opened.service.cancelBatch(request, callWith(session, opened)).catch(notOffered);
    session.output.progress.clear();
    noteReply(session, reply);
    const { ownerVoteNeeded, cancelTx, batch: ended } = reply.value;
    if (!ownerVoteNeeded && ended !== undefined && isEnded(ended)) return ended;
    const wire = decodeBase64('cancelTx', cancelTx ?? '');
    request = { batchId, signedTx: await signVote(session, batch, wire, signer) };
  }
  throw new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The service asked for more than ${MAX_VOTES} owner votes on batch ${batchId}.`,
  );
}

function notOffered(error: unknown): never {
  if (!isNotOffered(error) || (error as FlywheelError).options.doubtful === true) throw error;
  throw new FlywheelError('ERR_NOT_FOUND', 'This service cannot cancel batches.', {
    hint: 'Cancel the batch in the Squads app. Until then, members can still execute the rest.',
  });
}

/** The kind of vote follows the proposal's status. Either kind ends the batch that the owner agreed to. */
async function signVote(
  session: Session,
  batch: Batch,
  wire: Uint8Array,
  load: () => Promise<KeypairSigner>,
): Promise<string> {
  const opened = await session.service();
  const pins = requirePins(opened.pins);
  requireChain(opened);
  const { multisig, owner, operator } = pins;
  const status = (await accountsOnChain(session, batch))?.proposal.value?.status;
  const kind = status?.kind === 'Approved' ? 'cancel' : 'reject';
  const batchIndex = BigInt(batch.batchIndex);
  checkVote(wire, { kind, multisig, batchIndex, member: owner, feePayers: [operator, owner] });
  const signer = await load();
  requireOwner(pins, signer.address);
  return Buffer.from(await addSignature(wire, signer)).toString('base64');
}

/** @throws `ERR_DECLINED` */
async function agree(session: Session, opened: OpenedService, { id, batchIndex }: Batch): Promise<void> {
  const { chain, pins } = opened;
  if (chain === null || pins === null)
    session.output.warn(`The rest of batch ${id} was not checked, because no RPC node is set.`);
  const asked = pins && { multisig: pins.multisig, batchIndex: BigInt(batchIndex), expectation: null };
  const shown = chain && asked && (await show(session, opened, () => lookAtBatch(chain, null, pins, asked)));
  const count = shown?.transactions.length ?? 0;
  const none =
    count === 1
      ? 'Its transaction was not executed, and will not be.'
      : `None of its ${countText(count, 'transaction')} was executed, and none will be.`;
  const effect =
    shown?.batch.executedTransactionIndex === 0 ? none : 'Its other transactions will not be executed.';
  await requireConsent(session, `Cancel batch ${id}? ${effect}`);
}

/**
 * What could not be approved is only a warning: it is no reason to leave the batch executable.
 * @returns `null`: it cannot be read.
 */
async function show(session: Session, opened: OpenedService, read: () => Promise<Look>) {
  const { output } = session;
  try {
    const look = await read();
    if (look.refusal !== null) output.warn(look.refusal.message);
    const unit = unitOf({ trusted: await opened.trusted(), symbol: opened.symbol }, look);
    showSubject(session, viewBatchContent(look.description, unit, output.noticeStyle).join('\n'));
    return look.description;
  } catch (error) {
    // A batch that is half set up or half closed cannot be read; cancelling is still right.
    if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    output.warn(error.message);
    return null;
  }
}
