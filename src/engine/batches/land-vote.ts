/** Lands a vote that the owner has signed. */
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { BatchRecord } from '../../store/records.js';
import type { EngineDeps } from '../deps.js';
import type { Advance } from './advance.js';
import type { SignedVote } from './owner-vote.js';

/**
 * Brings a vote of the owner onto the chain.
 * @throws `ERR_APPROVAL_EXPIRED` when it can land no more and has not; `ERR_INSUFFICIENT_FUNDS` when its payer cannot pay;
 * `ERR_UNAVAILABLE` when the chain does not say yet what became of it.
 */
export async function landOwnerVote(
  deps: EngineDeps,
  { id }: BatchRecord,
  advance: Advance,
  vote: SignedVote,
): Promise<void> {
  const { signature, payer } = vote;
  const lastValidBlockHeight = await lastHeight(deps, vote);
  const fate = await advance.sendSigned('OWNER_APPROVAL', { ...vote, lastValidBlockHeight });
  if (fate.kind === 'landed') return;
  if (fate.kind === 'expired') {
    throw new FlywheelError(
      'ERR_APPROVAL_EXPIRED',
      `The signed transaction of batch ${id} has expired and did not land. Sign a fresh one: \`flywheel batch approve ${id}\`, or POST /v1/flywheel/batch/${id}/approval.`,
    );
  }
  if (fate.kind === 'open') {
    throw new FlywheelError(
      'ERR_UNAVAILABLE',
      `The outcome of the owner's transaction ${signature} is not known yet.`,
    );
  }
  if (fate.rejection !== null) {
    throw new FlywheelError(
      'ERR_INSUFFICIENT_FUNDS',
      `The fee payer ${payer} of the signed transaction cannot pay for it: ${fate.reason}.`,
    );
  }
  throw new FlywheelError(
    'ERR_BATCH_EXECUTE_FAILED',
    `The owner's transaction ${signature} failed on chain: ${fate.reason}.`,
  );
}

/** A block up to which a vote can land for sure; one with a blockhash of the owner's choice lasts no longer than the newest. */
async function lastHeight({ chain }: EngineDeps, vote: SignedVote): Promise<bigint> {
  if (vote.lastValidBlockHeight !== null) return vote.lastValidBlockHeight;
  if (!(await chain.isBlockhashValid(vote.blockhash))) return chain.expiredHeight();
  return (await chain.latestBlockhash()).lastValidBlockHeight;
}
