/** The owner's votes on a batch: issuing, checking and sending. */
import { VOTES } from '../../chain/squads/builders.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { addSignature, flawedSignatures } from '../../chain/transaction/sign.js';
import {
  compileLegacyMessage,
  compileV0Message,
  decodeTransaction,
  isMissing,
  signatureOf,
  unsigned,
  type WireTransaction,
} from '../../chain/transaction/wire.js';
import { issueApprovalRequestSchema } from '../../contract/schemas/batch.js';
import { parseInput } from '../../contract/validate.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { BatchRecord, IssuedVote, IssuedVoteKind } from '../../store/records.js';
import { base58Encode, sameBytes } from '../../values/bytes.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps, Sources } from '../deps.js';
import { operation } from '../operation.js';
import { signingTerms, withBudget } from '../signing-terms.js';
import type { BatchWork } from './advance.js';
import { type BatchContext, contextOf, currentRecord, isFinal, withCost } from './batch-context.js';
import { findPermitted, initBatchView } from './get-batch.js';
import { readBatchState, requireOpenToVotes } from './on-chain.js';

const voteOf = (
  { project: { multisig, owner: member } }: BatchContext,
  { batchIndex }: BatchRecord,
  kind: IssuedVoteKind,
): Instruction => VOTES[kind].build({ multisig, batchIndex, member });

export async function issueVote(
  { chain, store }: Sources,
  context: BatchContext,
  batch: BatchRecord,
  kind: IssuedVoteKind,
): Promise<IssuedVote> {
  const payer = context.operator.address;
  const instructions = [voteOf(context, batch, kind)];
  const terms = await signingTerms(chain, { payer, instructions });
  const { blockhash, lastValidBlockHeight, units } = terms;
  const message = compileV0Message({
    payer,
    blockhash,
    instructions: withBudget(instructions, terms, units),
  });
  const transaction = await addSignature(unsigned(message), context.operator);
  const signature = signatureOf(decodeTransaction(transaction));
  const dateCreated = isoTime(store.latestMs());
  return { batchId: batch.id, kind, transaction, signature, lastValidBlockHeight, dateCreated };
}

/** `lastValidBlockHeight` is `null` for a blockhash chosen by the owner. */
export type SignedVote = Awaited<ReturnType<typeof checkSignedVote>>;

export const isSignedByAll = (bytes: Uint8Array): boolean =>
  !decodeTransaction(bytes).signatures.some(isMissing);

type OfBatch = Pick<BatchWork, 'deps' | 'context' | 'batch'>;

const refuse = (reason: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_SIGNED_TX', `The signed transaction was not sent: ${reason}.`);

/**
 * Accepts only a vote that is byte for byte an issued vote of this batch, or the same single instruction with another blockhash
 * and the owner as payer. Nothing else is ever sent.
 * @throws `ERR_INVALID_SIGNED_TX` when the vote cannot be decoded, is another transaction, or lacks a valid signature.
 */
export async function checkSignedVote(of: OfBatch, kind: IssuedVoteKind, signedTx: string) {
  const { deps, batch } = of;
  const bytes = Uint8Array.from(Buffer.from(signedTx, 'base64'));
  const approval = decode(bytes);
  const issued = (await deps.store.read((tx) => tx.batches.votes(batch.id))).find(
    (vote) =>
      vote.kind === kind &&
      sameBytes(decodeTransaction(vote.transaction).messageBytes, approval.messageBytes),
  );
  if (issued === undefined && !isOwners(approval, of, kind))
    throw refuse(`it is not the ${VOTES[kind].noun} that was issued for batch ${batch.id}`);
  checkSignatures(approval);
  const [payer] = approval.message.staticKeys;
  invariant(payer !== undefined, 'A vote has a payer.');
  const lastValidBlockHeight = issued?.lastValidBlockHeight ?? null;
  const blockhash = base58Encode(approval.message.blockhash);
  return { bytes, signature: signatureOf(approval), payer, blockhash, lastValidBlockHeight };
}

function decode(bytes: Uint8Array): WireTransaction {
  try {
    return decodeTransaction(bytes);
  } catch (error) {
    throw refuse(`it cannot be decoded (${(error as Error).message.replace(/\.$/, '')})`);
  }
}

/** Exactly this vote, paid by the owner, as version 0 or legacy. */
function isOwners(
  { messageBytes, message }: WireTransaction,
  { context, batch }: OfBatch,
  kind: IssuedVoteKind,
): boolean {
  const instructions = [voteOf(context, batch, kind)];
  const blockhash = base58Encode(message.blockhash);
  const input = { payer: context.project.owner, blockhash, instructions };
  return [compileV0Message, compileLegacyMessage].some((compile) => sameBytes(compile(input), messageBytes));
}

function checkSignatures(approval: WireTransaction): void {
  if (approval.signatures.length !== approval.message.signers) throw refuse('it lacks signatures');
  for (const { signer, flaw } of flawedSignatures(approval))
    throw refuse(`the signature of ${signer} is ${flaw}`);
}

/**
 * @throws `ERR_APPROVAL_EXPIRED` when the vote has not landed and cannot land any more; `ERR_INSUFFICIENT_FUNDS` when its payer
 * cannot pay; `ERR_UNAVAILABLE` when its outcome is unknown.
 */
export async function landOwnerVote(work: BatchWork, vote: SignedVote): Promise<void> {
  const { id } = work.batch;
  const { signature, payer } = vote;
  const lastValidBlockHeight = await lastHeight(work.deps, vote);
  const fate = await work.sendSigned({ ...vote, lastValidBlockHeight });
  if (fate.kind === 'landed') return;
  if (fate.kind === 'expired') {
    throw new FlywheelError(
      'ERR_APPROVAL_EXPIRED',
      `The approval of batch ${id} expired before it landed. To approve it again: POST /v1/flywheel/batch/${id}/approval.`,
    );
  }
  if (fate.kind === 'open') {
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The owner's transaction ${signature} was sent, and its outcome is not known yet.`,
    );
  }
  if (fate.rejection !== null) {
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The fee payer ${payer} cannot pay for the signed transaction: ${fate.reason}.`,
    );
  }
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The owner's transaction ${signature} failed on chain: ${fate.reason}.`,
  );
}

/** Upper bound of the block height at which a vote can land. A blockhash chosen by the owner lives no longer than the newest. */
async function lastHeight({ chain }: EngineDeps, vote: SignedVote): Promise<bigint> {
  if (vote.lastValidBlockHeight !== null) return vote.lastValidBlockHeight;
  // A node that is behind the owner's does not know a new blockhash yet; a local chain knows all.
  if (chain.pollMs === null && !(await chain.isBlockhashValid(vote.blockhash))) return chain.expiredHeight();
  return (await chain.latestBlockhash()).lastValidBlockHeight;
}

export const issueApproval = operation('issueApproval', {
  parse: (input) => parseInput(issueApprovalRequestSchema, input),
  perform: async ({ deps, principal, input: { batchId } }) => {
    // The answer contains every proof of the batch.
    const batch = await deps.store.read(async (tx) =>
      currentRecord(tx, (await findPermitted(tx, principal, batchId)).id),
    );
    if (batch.status === 'AVAILABLE_TO_QUEUE')
      throw new FlywheelError(
        'ERR_BATCH_NOT_FINALIZED',
        `The set-up of batch ${batch.id} is not finished yet.`,
      );
    const context = contextOf(deps, principal);
    const { project } = context;
    if (isFinal(batch))
      throw nothingToApprove(
        `Batch ${batch.id} is already ${batch.status === 'FAILED' ? 'over' : 'executed'}`,
      );
    const state = await readBatchState(deps.chain, project, batch);
    const { proposal } = state;
    requireOpenToVotes(state, batch);
    const status = proposal?.status.kind ?? 'gone';
    if (status !== 'Active')
      throw nothingToApprove(`The proposal of batch ${batch.id} is ${status} on chain`);
    if (proposal?.approved.includes(project.owner) === true)
      throw nothingToApprove(`${project.owner} has already approved batch ${batch.id} on chain`);
    const vote = await issueVote(deps, context, batch, 'approve');
    const current = await deps.store.transaction(async (tx) => {
      await tx.batches.addVote(vote);
      return currentRecord(tx, batch.id);
    }, batch);
    const view = initBatchView(current, context.project, vote);
    return deps.store.read((tx) => withCost(tx, batch.id, view));
  },
});

const nothingToApprove = (reason: string): FlywheelError =>
  new FlywheelError('ERR_INVALID_REQUEST', `${reason}, so there is nothing to approve.`);
