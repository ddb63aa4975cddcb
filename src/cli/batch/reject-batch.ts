/**
 * Before a batch is voted down that nobody has approved: what it is, who may act for the flywheel, and the owner's word. What
 * could never be approved can be rejected all the same: here a doubt is said aloud and stops nothing.
 */
import { multisigFacts, readTokenOnChain, type TokenOnChain } from '../../approval/flywheel-facts.js';
import { driftOf, type Pins } from '../../approval/pins.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { Batch } from '../../contract/schemas/batch.js';
import { isFlywheelError } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { requireConsent } from '../consent.js';
import { commandLine } from '../operation/resume-line.js';
import { describeBatch, type OwnerVoting, showBatch } from './end-batch.js';
import { refuse, requirePins } from './pins.js';

/**
 * Shows the batch and asks; a batch that is over already takes neither.
 * @throws `ERR_APPROVAL_REFUSED` for what has been approved, `ERR_DECLINED`.
 */
export async function agreeToReject(
  session: Session,
  batch: Batch,
  { allowUnverified }: OwnerVoting,
): Promise<void> {
  const opened = await session.service();
  const { id: batchId } = batch;
  if (batch.dateCancelled !== undefined) return;
  const pins = requirePins(opened.pins);
  const ref = { multisig: pins.multisig, batchIndex: BigInt(batch.batchIndex) };
  const description = await describeBatch(opened, ref, allowUnverified).catch((error: unknown) => {
    if (opened.chain === null || !isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    // A batch that was left half set up, or half closed, cannot be read and is to go all the more.
    session.output.warn(error.message);
    return null;
  });
  if (description !== null) requireUnapproved(session, description, batchId);
  const token =
    opened.chain === null || description === null
      ? null
      : await tokenWithDoubts(session, opened.chain, pins, description);
  const trusted = token?.flywheel ?? (await opened.trusted());
  showBatch(session, batchId, description, { trusted, symbol: opened.symbol });
  await requireConsent(
    session,
    `Reject batch ${batchId} as ${pins.owner}? It is voted down and closed, and nothing of it will ever be executed.`,
    { declined: `Declined; nothing was signed, and batch ${batchId} is as it was.` },
  );
}

function requireUnapproved({ settings }: Session, { proposal }: BatchDescription, batchId: string): void {
  const { kind } = proposal.status;
  if (kind === 'Draft' || kind === 'Active' || kind === 'Rejected') return;
  throw refuse(
    `The proposal of batch ${batchId} is ${kind}; only what has not been approved can be rejected.`,
    `To end what has been approved: ${commandLine(settings, 'batch', 'cancel', batchId)}`,
  );
}

/** The token as it is, and a warning for whatever is not as it was pinned. */
async function tokenWithDoubts(
  session: Session,
  chain: ChainReader,
  pins: Pins,
  { multisigAccount }: BatchDescription,
): Promise<TokenOnChain | null> {
  const { output } = session;
  try {
    const token = await readTokenOnChain(chain, pins);
    const facts = { ...multisigFacts(multisigAccount), ...token.facts };
    for (const { fact, before, now } of pins.facts === null ? [] : driftOf(pins.facts, facts))
      output.warn(`The flywheel is not as it was pinned: ${fact} was ${before} and is ${now}.`);
    return token;
  } catch (error) {
    if (!isFlywheelError(error, 'ERR_APPROVAL_REFUSED')) throw error;
    output.warn(error.message);
    return null;
  }
}
