/**
 * The step that signs as the owner, and what must be true before (contract, section 2.6); `batch approve`, `execute
 * --approval` and `run` share it. Nothing is signed that has not been decoded and understood, and the key is not even read
 * before that.
 */

import type { CheckedVote } from '../../approval/check-vote.js';
import { addSignature, buildApproval } from '../../approval/check-vote.js';
import type { Pins } from '../../approval/pins.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { KeypairSigner } from '../../chain/transaction/sign.js';
import type { SignedApproval } from '../../contract/schemas/batch.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import { fieldLines, sentenceLines } from '../output/table.js';
import { viewQuestion, viewRows, viewSummary } from '../views/approval.js';
import { viewLook } from '../views/batch-content.js';
import type { Unit } from '../views/unit.js';
import { type HeldApproval, holdApproval, TYPE_DIGEST } from './approval-limits.js';
import type { IssuedApproval } from './approval-source.js';
import { awaitSetUp } from './chain-agrees.js';
import { pinsForApproval, requireChain, requireOwner } from './pins.js';
import { checkApproval, type Expectation, type Review, reviewBatch, unitOf } from './review.js';

interface ApproveInput {
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
  /** What was looked at. */
  readonly description: BatchDescription;
}

/** What was signed; or nothing was signed, because the owner's approval stands on chain already. */
type Approved = Signed | { readonly batchId: string; readonly alreadyApproved: true };

/**
 * Checks, shows, asks, signs.
 * @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_DECLINED`.
 */
export async function approveBatch(session: Session, input: ApproveInput): Promise<Approved> {
  const opened = await session.service();
  const chain = requireChain(opened);
  const { approval } = input;
  const { id: batchId } = approval.batch;
  requireExpectation(session, input.expectation);
  const pins = await pinsForApproval(session, opened, approval);
  const checked = checkApproval(approval, pins);
  await awaitSetUp(session, opened, { multisig: pins.multisig, batchIndex: approval.batch.batchIndex });
  const { batchIndex } = approval.batch;
  const { expectation } = input;
  const review = await reviewBatch(chain, opened, pins, { batchIndex, expectation });
  if (review.isApproved && !input.mayBeApproved) return { batchId, alreadyApproved: true };
  const held = await holdApproval(session, batchId, review, pins);
  try {
    const unit = unitOf({ symbol: opened.symbol, trusted: null }, review);
    if (isShown(session)) {
      showRows(session, input, checked, review, unit, held);
      remark(session, held);
      const { output } = session;
      const known = { owner: pins.owner, strangers: held.strangers };
      output.show(viewSummary(review, known, unit, output.noticeStyle).join('\n'));
    } else remark(session, held);
    const { typed } = held;
    const question = viewQuestion(review, unit);
    const declined = `Declined. Nothing was signed, and batch ${batchId} is unchanged.`;
    // With `--yes` the digest was named by --expect.
    await (typed === null
      ? requireConsent(session, question, { declined })
      : requireConsent(session, `${question} ${TYPE_DIGEST}`, { declined, typed }));
    const wire = await currentWire(chain, input, checked, pins);
    const signer = await input.signer();
    requireOwner(pins, signer.address);
    const signedTx = Buffer.from(addSignature(wire, signer)).toString('base64');
    held.signed();
    return { batchId, batchIndex, signedTx, description: review.description };
  } finally {
    held.close();
  }
}

/** What is not as before: a script is told what is alarming, people also of what is merely new. */
function remark({ output, settings, context }: Session, { news, alarms }: HeldApproval): void {
  if (!settings.yes)
    for (const line of news.flatMap((text) => sentenceLines(text, context.io.stderr))) output.show(line);
  for (const text of alarms) output.warn(text);
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
      ? 'With --yes an approval needs --expect. Nothing was signed.'
      : `Without a terminal an approval needs ${missing}. Nothing was signed.`,
    expectation === null ? { hint: 'Add --yes --expect pipelines.json' } : {},
  );
}

/** The person who is asked must see what the question is about, in every mode; to a script with --yes it is a notice like others. */
const isShown = ({ output, settings, context }: Session): boolean =>
  !settings.yes || context.io.stderr.isTTY || !(settings.quiet || output.messages === 'json');

/** What has been checked against the pins is shown with `--verbose` only. */
function showRows(
  { output, settings }: Session,
  { expectation }: ApproveInput,
  checked: CheckedVote,
  review: Review,
  unit: Unit,
  held: HeldApproval,
): void {
  const style = output.noticeStyle;
  const fee = [
    ['fee payer', checked.feePayer],
    ['priority fee', `at most ${checked.priorityFeeLamports} lamports`],
  ] as const;
  output.show(
    [
      ...(settings.verbose ? [...viewLook(review, unit, style, []), ...fieldLines(fee, style)] : []),
      ...viewRows(review, held.strangers ?? new Set(), unit, style),
    ].join('\n'),
  );
  output.show(
    expectation === null
      ? 'The batch was not compared with a pipelines file. Add --expect to compare it.'
      : 'The on-chain batch is the expected one.',
  );
}

/** The approval as issued, or a fresh one when its blockhash has expired. */
async function currentWire(
  chain: ChainReader,
  { approval }: ApproveInput,
  checked: CheckedVote,
  { owner, multisig }: Pins,
): Promise<Uint8Array> {
  if (await chain.isBlockhashValid(checked.blockhash)) return approval.wire;
  const { blockhash } = await chain.latestBlockhash();
  const { batchIndex } = approval.batch;
  return buildApproval({ owner, multisig, batchIndex, blockhash });
}
