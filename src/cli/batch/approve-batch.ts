/**
 * The step that signs as the owner, and what must be true before (contract, section 2.6); `batch approve`, `execute
 * --approval` and `run` share it. Nothing is signed that has not been decoded and understood, and the key is not even read
 * before that.
 */

import { pipelinesDigest } from '../../actions/pipelines.js';
import { addSignature, buildApproval } from '../../approval/build-approval.js';
import type { CheckedVote } from '../../approval/check-vote.js';
import type { Pins } from '../../approval/pins.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import type { KeypairSigner } from '../../chain/transaction/signer.js';
import type { SignedApproval } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { sentenceLines } from '../output/sentence.js';
import { fieldLines } from '../output/table.js';
import { viewLook } from '../views/batch-content.js';
import { type HeldApproval, holdApproval, requireNoLimits, TYPE_DIGEST } from './approval-limits.js';
import type { IssuedApproval } from './approval-source.js';
import { awaitSetUp } from './catch-up.js';
import { type Expectation, expectedDigest } from './expectation.js';
import { noChain, pinsForApproval, refuse, requireOwner } from './pins.js';
import { checkApproval, type Review, reviewBatch, unitOf } from './review.js';

/** How the user wants it checked. */
export interface ApprovalTerms {
  /** Sign although no chain can be read. */
  readonly allowUnverified: boolean;
  /** Try the batch out before. */
  readonly simulate: boolean;
}

export interface ApproveInput extends ApprovalTerms {
  readonly approval: IssuedApproval;
  /** Asked for only when it comes to signing. */
  readonly signer: () => Promise<KeypairSigner>;
  readonly expectation: Expectation | null;
  /** Sign also what has been approved before and waits for its execution. */
  readonly mayBeApproved: boolean;
}

/** The body of execute, and what it is for. */
export interface Signed extends SignedApproval {
  readonly batchIndex: bigint;
  /** What was looked at; `null` where no chain was read. */
  readonly description: BatchDescription | null;
}

/** What was signed; or nothing was signed, because the owner's approval stands on chain already. */
export type Approved = Signed | { readonly batchId: string; readonly alreadyApproved: true };

/**
 * Checks, shows, asks, signs.
 * @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_DECLINED`.
 */
export async function approveBatch(session: Session, input: ApproveInput): Promise<Approved> {
  const opened = await session.service();
  const { approval } = input;
  const { id: batchId } = approval.batch;
  requireExpectation(session, input.expectation);
  const pins = await pinsForApproval(session, opened, approval);
  const checked = checkApproval(approval, pins);
  await awaitSetUp(session, opened, pins.multisig, approval.batch.batchIndex);
  const review = await readReview(opened, input, pins);
  if (review?.isApproved === true && !input.mayBeApproved) return { batchId, alreadyApproved: true };
  if (review === null) requireNoLimits(session);
  const held = review === null ? null : await holdApproval(session, batchId, review, pins);
  try {
    show(session, opened, input, checked, review);
    if (held !== null) remark(session, held);
    await requireAgreed(session, batchId, pins, held);
    const wire = await currentWire(opened, input, checked, pins);
    const signer = await input.signer();
    requireOwner(pins, signer.address);
    const signedTx = Buffer.from(addSignature(wire, signer)).toString('base64');
    held?.signed();
    const { batchIndex } = approval.batch;
    return { batchId, batchIndex, signedTx, description: review?.description ?? null };
  } finally {
    held?.close();
  }
}

/** Asks; with `--yes` the digest was named by --expect. */
async function requireAgreed(
  session: Session,
  batchId: string,
  { owner }: Pins,
  held: HeldApproval | null,
): Promise<void> {
  const declined = 'Declined; nothing was signed.';
  const question = `Sign the approval of batch ${batchId} as ${owner}?`;
  if (held === null || held.typed === null) return requireConsent(session, question, { declined });
  await requireConsent(session, `${question} ${TYPE_DIGEST}`, { declined, typed: held.typed });
}

/** What is not as before: a script is told what is alarming, people also of what is merely new. */
function remark({ output, settings, context }: Session, { remarks }: HeldApproval): void {
  if (!settings.yes)
    for (const line of remarks.news.flatMap((text) => sentenceLines(text, context.io.stderr)))
      output.show(line);
  for (const text of remarks.alarms) output.warn(text);
}

/** The signature of one who signs also what has been approved before. */
export function requireSigned(approved: Approved): Signed {
  invariant('signedTx' in approved, 'What may be approved already is signed once more.');
  return approved;
}

/** Consent that was given beforehand is consent to something that was named beforehand. */
function requireExpectation(session: Session, expectation: Expectation | null): void {
  const { yes } = session.settings;
  if (expectation !== null && (yes || canAsk(session))) return;
  if (expectation === null && !yes && canAsk(session)) return;
  const missing = [...(yes ? [] : ['--yes']), ...(expectation === null ? ['--expect'] : [])].join(' and ');
  throw new FlywheelError(
    'ERR_USAGE',
    canAsk(session)
      ? 'With --yes an approval needs --expect; nothing was signed.'
      : `Without a terminal an approval needs ${missing}; nothing was signed.`,
    expectation === null ? { hint: 'Add --yes --expect pipelines.json, or --expect sha256:… .' } : {},
  );
}

/** What the batch holds, from chain; `null` where no chain can be read and that is allowed. */
async function readReview(opened: OpenedService, input: ApproveInput, pins: Pins): Promise<Review | null> {
  const { approval, expectation, simulate } = input;
  if (opened.chain !== null)
    return reviewBatch(opened.chain, opened, pins, {
      batchIndex: approval.batch.batchIndex,
      expectation,
      simulate,
    });
  if (!input.allowUnverified) throw noChain();
  if (expectation !== null) compareWithFile(approval, expectation);
  return null;
}

/** Without a chain, all that can be compared is what the approval file itself says of the batch. */
function compareWithFile(approval: IssuedApproval, expectation: Expectation): void {
  const pipelines = approval.pipelines();
  if (pipelines === null) {
    throw refuse(
      '--expect could not be compared with anything: no chain can be read, and the approval does not carry its pipelines.',
      'Set FLYWHEEL_RPC_URL to an RPC of your own, or give the approval file that `batch init` wrote.',
    );
  }
  const [found, expected] = [pipelinesDigest(pipelines), expectedDigest(expectation)];
  if (found !== expected)
    throw refuse(`The digest of the approval file is sha256:${found}, expected sha256:${expected}.`);
}

function show(
  session: Session,
  opened: OpenedService,
  input: ApproveInput,
  checked: CheckedVote,
  review: Review | null,
): void {
  const { output, settings, context } = session;
  const { approval, expectation } = input;
  if (review === null) {
    output.warn(
      `No chain was read: what batch ${approval.batch.id} does, and who may act for the flywheel, was not checked.${
        expectation === null ? '' : ' The expected pipelines were compared with the approval file only.'
      }`,
    );
    return;
  }
  // The person who is asked must see what the question is about, in every mode; to a script with --yes it is a notice like others.
  if (settings.yes && !context.io.stderr.isTTY && (settings.quiet || output.messages === 'json')) return;
  const fee = [
    ['fee payer', checked.feePayer],
    ['priority fee', `at most ${checked.priorityFeeLamports} lamports`],
  ] as const;
  output.show(
    [
      ...viewLook(review, unitOf({ symbol: opened.symbol, trusted: null }, review), output.noticeStyle),
      ...fieldLines(fee, output.noticeStyle),
    ].join('\n'),
  );
  output.show(
    expectation === null
      ? 'The batch was not compared with a pipelines file; --expect does that.'
      : 'The batch is exactly what was expected, compared with what stands on chain.',
  );
}

/** The approval as issued, or a fresh one when its blockhash has expired and the chain can be read. */
async function currentWire(
  { chain }: OpenedService,
  { approval }: ApproveInput,
  checked: CheckedVote,
  { owner, multisig }: Pins,
): Promise<Uint8Array> {
  if (chain === null || (await chain.isBlockhashValid(checked.blockhash))) return approval.wire;
  const { blockhash } = await chain.latestBlockhash();
  const { batchIndex } = approval.batch;
  return buildApproval({ owner, multisig, batchIndex, blockhash });
}
