/**
 * Ends what of a batch has not been executed. The owner's vote against it is a signature like any other: nothing is signed that
 * is not exactly one such vote on this very batch, shown before and agreed to.
 */

import { addSignature } from '../../approval/build-approval.js';
import { checkVote, holdsInstruction } from '../../approval/check-vote.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { VOTES, type VoteKind } from '../../chain/squads/vote.js';
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { Batch, CancelBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { commandLine } from '../operation/resume-line.js';
import { callWith, noteReply } from '../send.js';
import { viewBatchContent } from '../views/batch-content.js';
import { decodeBase64 } from './approval-source.js';
import { getBatch, isOver } from './initiate.js';
import { isNotOffered } from './landed-pipelines.js';
import { noChain, refuse, requireOwner, requirePins } from './pins.js';
import { unitOf } from './review.js';

/** How the owner votes. */
export interface OwnerVoting {
  /** Asked for only when the owner's vote is needed. */
  readonly signer: () => Promise<KeypairSigner>;
  readonly allowUnverified: boolean;
  /** A vote that was shown and agreed to before; no other is signed then. */
  readonly agreed?: { readonly kind: VoteKind; readonly batchIndex: bigint };
}

/** Votes of the owner that one batch can need: the proposal may have moved on since the last. */
const MAX_VOTES = 3;

/**
 * @returns the batch, which is over.
 * @throws `ERR_APPROVAL_REFUSED`, `ERR_DECLINED`; `ERR_NOT_FOUND` from a service that cancels no batches.
 */
export async function endBatch(session: Session, batchId: string, voting: OwnerVoting): Promise<Batch> {
  const opened = await session.service();
  let request: CancelBatchRequest = { batchId };
  for (let votes = 0; votes <= MAX_VOTES; votes += 1) {
    session.output.progress.show('cancelling the batch …');
    const reply = await opened.service.cancelBatch(request, callWith(session, opened)).catch(notOffered);
    session.output.progress.clear();
    noteReply(session, reply);
    const { ownerVoteNeeded, cancelTx, batch } = reply.value;
    if (!ownerVoteNeeded && batch !== undefined && isOver(batch)) return batch;
    const wire = decodeBase64('cancelTx', cancelTx ?? '');
    request = { batchId, signedTx: await signVote(session, opened, batchId, wire, voting) };
  }
  throw new FlywheelError(
    'ERR_RESPONSE_INVALID',
    `The service has asked for more than ${MAX_VOTES} votes of the owner on batch ${batchId}.`,
  );
}

function notOffered(error: unknown): never {
  if (!isNotOffered(error)) throw error;
  throw new FlywheelError('ERR_NOT_FOUND', 'This service does not offer to cancel a batch.', {
    hint: "Until its members vote it down with the multisig's own tools, what is left of it can still be executed.",
  });
}

async function signVote(
  session: Session,
  opened: OpenedService,
  batchId: string,
  wire: Uint8Array,
  { signer: load, allowUnverified, agreed }: OwnerVoting,
): Promise<string> {
  const { multisig, owner, operator } = requirePins(opened.pins);
  const batch = await getBatch(session, batchId);
  const batchIndex = BigInt(batch.batchIndex);
  const description = await describeBatch(opened, { multisig, batchIndex }, allowUnverified).catch(
    (error: unknown) => {
      // What cannot be read can still be voted down by who has agreed to that: the vote itself says what it is.
      if (agreed?.kind !== 'reject' || !isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
      return null;
    },
  );
  const kind = votesAgainst(wire, description);
  checkVote(wire, { kind, multisig, batchIndex, member: owner, feePayers: [operator, owner] });
  if (agreed === undefined) {
    showBatch(session, batchId, description, { trusted: await opened.trusted(), symbol: opened.symbol });
    await requireConsent(
      session,
      `Sign the ${VOTES[kind].noun} of batch ${batchId} as ${owner}? What it has not done, it never will.`,
      { declined: `Declined; nothing was signed, and batch ${batchId} is as it was.` },
    );
  } else if (agreed.kind !== kind || agreed.batchIndex !== batchIndex) {
    throw refuse(
      `The ${VOTES[agreed.kind].noun} of batch ${batchId}, number ${agreed.batchIndex}, was agreed to, and by now it takes the ${VOTES[kind].noun} of number ${batchIndex}.`,
      `Look again, then: ${commandLine(session.settings, 'batch', 'cancel', batchId)}`,
    );
  }
  const signer = await load();
  requireOwner(requirePins(opened.pins), signer.address);
  return Buffer.from(addSignature(wire, signer)).toString('base64');
}

/** The batch as it is on chain; `null` where no chain can be read and that is allowed. */
export async function describeBatch(
  { chain }: OpenedService,
  ref: BatchRef,
  allowUnverified: boolean,
): Promise<BatchDescription | null> {
  if (chain !== null) return readBatch(chain, ref);
  if (allowUnverified) return null;
  throw noChain();
}

/** What has been approved is cancelled, anything else is rejected; without a chain to say which, the vote itself does. */
function votesAgainst(wire: Uint8Array, description: BatchDescription | null): VoteKind {
  if (description !== null) return description.proposal.status.kind === 'Approved' ? 'cancel' : 'reject';
  return holdsInstruction(wire, VOTES.cancel.instruction) ? 'cancel' : 'reject';
}

/** What a vote is about: to people as lines, to a script as one notice. */
export function showBatch(
  session: Session,
  batchId: string,
  description: BatchDescription | null,
  opened: { readonly trusted: Flywheel | null; readonly symbol: string | null },
): void {
  const { output, settings, context } = session;
  if (description === null) {
    output.warn(`What is left of batch ${batchId} was not looked at: it was not read from a chain.`);
    return;
  }
  const unit = unitOf(opened, { description, token: null });
  const text = viewBatchContent(description, unit, output.noticeStyle).join('\n');
  if (!settings.yes || context.io.stderr.isTTY || (output.messages === 'text' && !settings.quiet))
    output.show(text);
  else output.tell(text);
}
