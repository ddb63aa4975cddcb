/** Signs as the owner (contract, section 2.6). A transaction that was not decoded and understood is never signed. */

import { readPastContent } from '../../approval/batch-content.js';
import { buildApproval, type CheckedVote } from '../../approval/check-vote.js';
import type { Pins } from '../../approval/pins.js';
import { pastStateOf } from '../../approval/verify-batch.js';
import type { ChainReader } from '../../chain/chain.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import { addSignature } from '../../chain/transaction/sign.js';
import { FlywheelError, invariant } from '../../errors/flywheel-error.js';
import type { Sha256 } from '../../values/digest.js';
import type { Uuid } from '../../values/ids.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent, withoutQuestion } from '../consent.js';
import type { OpenedService } from '../context.js';
import type { OwnerKeypair } from '../load-keypair.js';
import { fieldLines, sentenceLines } from '../output/table.js';
import { type Summed, summedUp, viewQuestion, viewRows, viewSummary } from '../views/approval.js';
import { viewLook } from '../views/batch-content.js';
import type { Unit } from '../views/unit.js';
import { type HeldApproval, holdApproval, type Repeat, TYPE_DIGEST } from './approval-limits.js';
import type { BatchName } from './approval-source.js';
import { lookUntil } from './chain-agrees.js';
import { pinsForApproval, requireChain, requireOwner } from './pins.js';
import {
  checkApproval,
  type Expectation,
  type Review,
  requireOwnMultisig,
  reviewBatch,
  unitOf,
} from './review.js';

export interface ToApprove {
  readonly batch: BatchName;
  /** The issued approval; `null`: the wallet signs its own. */
  readonly wire: Uint8Array | null;
  readonly expectation: Expectation | null;
  readonly repeat: Repeat;
}

/** A batch that passed all checks; the owner may have approved it already. */
export interface Judgement {
  readonly opened: OpenedService;
  readonly chain: ChainReader;
  readonly pins: Pins;
  readonly checked: CheckedVote | null;
  readonly review: Review;
  readonly unit: Unit;
}

/** @throws `ERR_APPROVAL_REFUSED` with the reason; `ERR_INVALID_REQUEST` when the batch is over. */
export async function judge(
  session: Session,
  { batch, wire, expectation }: Omit<ToApprove, 'repeat'>,
  keypair: OwnerKeypair | null,
): Promise<Judgement> {
  const opened = await session.service();
  const chain = requireChain(opened);
  const pins = await pinsForApproval(session, opened);
  requireOwnMultisig(pins, batch);
  const checked = wire && checkApproval({ batch, wire }, pins);
  const signer = await keypair?.address();
  if (signer != null) requireOwner(pins, signer);
  const { batchIndex } = batch;
  const ref = { multisig: pins.multisig, batchIndex };
  const look = () => readBatchAccounts(chain, ref, 0);
  // The proposal is activated last. After the wait the checks say what is missing.
  const accounts = await lookUntil(session, look, ({ proposal }) => {
    const isSetUp = proposal.value !== null && proposal.value.status.kind !== 'Draft';
    return isSetUp || opened.kind === 'embedded';
  });
  const isThere = accounts.batch.value !== null || accounts.proposal.value !== null;
  const isOld = (accounts.multisig.value?.transactionIndex ?? 0n) >= batchIndex;
  if (!isThere && isOld) throw await closed(chain, ref, batch);
  const review = await reviewBatch(chain, opened, pins, { batchIndex, expectation });
  const unit = unitOf({ symbol: opened.symbol, trusted: null }, review);
  return { opened, chain, pins, checked, review, unit };
}

async function closed(chain: ChainReader, ref: BatchRef, { id }: BatchName): Promise<FlywheelError> {
  const past = await readPastContent(chain, ref);
  const state = past === null ? 'executed or cancelled' : pastStateOf(past);
  return new FlywheelError(
    'ERR_INVALID_REQUEST',
    `Batch ${id} is over on chain (${state}), so there is nothing to approve. Nothing was signed.`,
    { hint: `Show what the batch did: \`flywheel batch inspect ${id}\`` },
  );
}

export const summedFor = ({ opened, review, pins, unit }: Judgement, held: HeldApproval): Summed =>
  summedUp(review, { mint: pins.mint, signer: pins.owner, earlier: held }, opened.foresight, unit);

export function showJudgement(
  session: Session,
  judgement: Judgement,
  held: HeldApproval,
  expectation: Expectation | null,
): void {
  const { output, settings, context } = session;
  const { checked, review, unit } = judgement;
  const style = output.noticeStyle;
  // A person who is asked sees the batch in every mode. For a script with --yes the content is an ordinary notice.
  const isShown = !settings.yes || context.io.stderr.isTTY || !(settings.quiet || output.messages === 'json');
  const fee = checked && [
    ['fee payer', checked.feePayer] as const,
    ['priority fee', `at most ${checked.priorityFeeLamports} lamports`] as const,
  ];
  const look = settings.verbose
    ? [...viewLook(review, unit, style, []), ...fieldLines(fee ?? [], style)]
    : [];
  if (isShown) {
    output.show([...look, ...viewRows(review, held, unit, style)].join('\n'));
    output.show(
      expectation === null
        ? 'The batch was not compared with a pipelines file. Add --expect to compare it.'
        : 'The batch on chain equals the expected pipelines.',
    );
  }
  // A person sees the alarms in the summary, a script in warnings.
  for (const text of settings.yes ? held.alarms : []) output.warn(text);
  if (!settings.yes)
    for (const line of held.news.flatMap((text) => sentenceLines(text, context.io.stderr))) output.show(line);
  if (isShown) output.show(viewSummary(summedFor(judgement, held), unit, style).join('\n'));
}

export interface Signed {
  readonly batchId: Uuid;
  readonly signedTx: string;
  readonly batchIndex: bigint;
  readonly digest: Sha256 | null;
}

/**
 * Checks, shows, asks, signs.
 * @param mayBeApproved - sign also a batch that is approved on chain and waits for its execution.
 * @returns `null`: it is approved already, and nothing was signed.
 * @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_DECLINED`, `ERR_INPUT_INVALID` for proofs that were paid before.
 */
export async function approveBatch(
  session: Session,
  asked: ToApprove & { readonly wire: Uint8Array },
  keypair: OwnerKeypair,
  mayBeApproved = true,
): Promise<Signed | null> {
  const { batch, wire, expectation, repeat } = asked;
  const { id: batchId, batchIndex } = batch;
  requireExpectation(session, expectation);
  const judgement = await judge(session, asked, keypair);
  const { chain, pins, review, unit, checked } = judgement;
  if (review.isApproved && !mayBeApproved) return null;
  const held = await holdApproval(session, batchId, review, { repeat, isAsked: false });
  showJudgement(session, judgement, held, expectation);
  const { typed } = held;
  const question = viewQuestion(review, held, unit);
  // With `--yes` the digest was given by --expect.
  await requireConsent(session, typed === null ? question : `${question} ${TYPE_DIGEST}`, {
    ...(typed !== null && { typed }),
    otherwise: 'Nothing was signed.',
  });
  invariant(checked !== null, 'What was issued has been checked.');
  const isValid = await chain.isBlockhashValid(checked.blockhash);
  const { owner, multisig } = pins;
  const current = isValid
    ? wire
    : buildApproval({ owner, multisig, batchIndex, blockhash: (await chain.latestBlockhash()).blockhash });
  const signer = await keypair.signer();
  requireOwner(pins, signer.address);
  const signedTx = Buffer.from(await addSignature(current, signer)).toString('base64');
  held.signed();
  return { batchId, batchIndex, signedTx, digest: review.description.digest };
}

/** `--yes` is consent only to the content that `--expect` names. */
function requireExpectation(session: Session, expectation: Expectation | null): void {
  const { yes } = session.settings;
  if (yes ? expectation !== null : canAsk(session)) return;
  const missing = [...(yes ? [] : ['--yes']), ...(expectation === null ? ['--expect'] : [])].join(' and ');
  throw new FlywheelError(
    'ERR_USAGE',
    canAsk(session)
      ? 'With --yes an approval needs --expect. Nothing was signed.'
      : `${withoutQuestion(session)} an approval needs ${missing}. Nothing was signed.`,
    expectation === null ? { hint: `Add ${yes ? '' : '--yes '}--expect pipelines.json` } : {},
  );
}
