/**
 * The step that signs as the owner, and what must be true before (contract, section 2.6); `batch approve`, `execute
 * --approval` and `run` share it. Nothing is signed that has not been decoded and understood.
 */

import { addSignature, buildApproval } from '../../approval/build-approval.js';
import { checkApprovable, checkBatchContent, hasApproved } from '../../approval/check-content.js';
import { type CheckedVote, checkVote } from '../../approval/check-vote.js';
import { type BatchDescription, readBatch } from '../../approval/read-batch.js';
import type { Flywheel } from '../../chain/flywheel.js';
import type { Signer } from '../../chain/transaction/signer.js';
import type { ExecuteBatchRequest } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import { type Address, address } from '../../values/address.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { viewBatchContent } from '../views/batch-content.js';
import type { IssuedApproval } from './approval-source.js';
import { checkExpectation, type Expectation } from './expectation.js';
import { noChain, payersOf, refuse, requirePins } from './pins.js';

export interface ApproveInput {
  readonly approval: IssuedApproval;
  readonly signer: Signer;
  readonly expectation: Expectation | null;
  /** Sign although no chain can be read or nothing is pinned. */
  readonly allowUnverified: boolean;
  /** Sign also what has been approved before and waits for its execution. */
  readonly mayBeApproved: boolean;
}

/**
 * Checks, shows, asks, signs.
 * @returns the body of execute.
 * @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_DECLINED`.
 */
export async function approveBatch(session: Session, input: ApproveInput): Promise<ExecuteBatchRequest> {
  const opened = await session.service();
  const { approval, signer, expectation } = input;
  requireExpectationWithoutTerminal(session, expectation);
  const pins = pinsFor(opened.trusted, input);
  const checked = checkVote(approval.wire, { ...pins, kind: 'approve', member: signer.address });
  const description = await readContent(opened, input, pins.multisig);
  showAndWarn(session, input, checked, description, opened.trusted);
  await requireConsent(session, `Sign the approval of batch ${approval.batch.id} as ${signer.address}?`, {
    declined: 'Declined; nothing was signed.',
  });
  const wire = await currentWire(opened, input, checked, pins.multisig);
  return {
    batchId: approval.batch.id,
    signedTx: Buffer.from(addSignature(wire, signer)).toString('base64'),
  };
}

function requireExpectationWithoutTerminal(session: Session, expectation: Expectation | null): void {
  if (canAsk(session) || (session.settings.yes && expectation !== null)) return;
  throw new FlywheelError(
    'ERR_USAGE',
    `Without a terminal an approval needs --yes${expectation === null ? ' and --expect' : ''}; nothing was signed.`,
    expectation === null ? { hint: 'Add --yes --expect pipelines.json, or --expect sha256:… .' } : {},
  );
}

interface Pins {
  readonly multisig: Address;
  readonly batchIndex: bigint;
  readonly feePayers: readonly Address[];
}

/** What the approval is held against: the pinned flywheel, or, if that is allowed, only what the approval says itself. */
function pinsFor(trusted: Flywheel | null, { approval, signer, allowUnverified }: ApproveInput): Pins {
  const { batchIndex, multisig } = approval.batch;
  const pinned = requirePins(trusted, signer, allowUnverified);
  if (pinned === null)
    return { multisig: address(multisig), batchIndex, feePayers: payersOf(approval.wire, signer) };
  if (multisig !== pinned.multisig)
    throw refuse(`The batch is of the multisig ${multisig}; the flywheel's is ${pinned.multisig}.`);
  return {
    multisig: address(pinned.multisig),
    batchIndex,
    feePayers: [address(pinned.operator), signer.address],
  };
}

/** What the batch holds, from chain; `null` where no chain can be read and that is allowed. */
async function readContent(
  opened: OpenedService,
  input: ApproveInput,
  multisig: Address,
): Promise<BatchDescription | null> {
  const { chain, trusted } = opened;
  if (chain === null || trusted === null) {
    if (input.allowUnverified) return null;
    throw noChain();
  }
  const description = await readBatch(chain, { multisig, batchIndex: input.approval.batch.batchIndex });
  const token = trusted;
  checkBatchContent(description, token);
  if (input.expectation !== null) checkExpectation(description, input.expectation, token);
  const { signer } = input;
  if (!(input.mayBeApproved && hasApproved(description, signer.address)))
    checkApprovable(description, signer.address);
  return description;
}

function showAndWarn(
  session: Session,
  { approval, expectation }: ApproveInput,
  checked: CheckedVote,
  description: BatchDescription | null,
  trusted: Flywheel | null,
): void {
  const { output } = session;
  if (description === null || trusted === null) {
    output.warn(`What batch ${approval.batch.id} does was not checked: no chain was read.`);
    if (expectation !== null) output.warn('The expected pipelines were not compared with anything.');
    return;
  }
  const lines = viewBatchContent(description, trusted, output.noticeStyle);
  // Whoever is asked must see what the question is about, in every mode; with --yes it is a notice like others.
  const { yes, quiet } = session.settings;
  if (yes && (quiet || output.mode !== 'human')) return;
  const tell = output.show;
  tell(
    [
      ...lines,
      `fee payer ${checked.feePayer}, priority fee at most ${checked.priorityFeeLamports} lamports`,
    ].join('\n'),
  );
  if (expectation === null) tell('The batch was not compared with a pipelines file; --expect does that.');
}

/** The approval as issued, or the same one anew when its blockhash has expired and the chain can be read. */
async function currentWire(
  { chain }: OpenedService,
  { approval, signer }: ApproveInput,
  checked: CheckedVote,
  multisig: Address,
): Promise<Uint8Array> {
  if (chain === null || (await chain.isBlockhashValid(checked.blockhash))) return approval.wire;
  const { blockhash } = await chain.latestBlockhash();
  const { batchIndex } = approval.batch;
  return buildApproval({ owner: signer.address, multisig, batchIndex, blockhash });
}
