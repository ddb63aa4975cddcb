/** Signs as the owner, with a keypair or in a browser wallet (2.6). What was not decoded and understood is never signed. */

import { digestText } from '../../actions/pipelines.js';
import { readPastContent } from '../../approval/batch-content.js';
import {
  buildApproval,
  type CheckedVote,
  checkWalletVote,
  type WalletVote,
} from '../../approval/check-vote.js';
import type { Pins } from '../../approval/pins.js';
import { pastStateOf } from '../../approval/verify-batch.js';
import { LAMPORTS_PER_SIGNATURE } from '../../chain/account.js';
import type { ChainReader, Rejection, TransactionError } from '../../chain/chain.js';
import type { ChainSender } from '../../chain/send.js';
import type { BatchRef } from '../../chain/squads/builders.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import { addSignature } from '../../chain/transaction/sign.js';
import { FlywheelError, invariant, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import type { Taken } from '../../wallet-page/serve-page.js';
import type { Session } from '../command.js';
import { canAsk, requireConsent, withoutQuestion } from '../consent.js';
import type { OpenedService } from '../context.js';
import type { OwnerKeypair } from '../load-keypair.js';
import { getBatch } from '../operation/done-there.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { outcomeUnknown } from '../operation/verdicts.js';
import { plainStyle } from '../output/color.js';
import { fieldLines, sentenceLines } from '../output/table.js';
import {
  ALARM,
  type Summed,
  summaryOf,
  summedUp,
  viewQuestion,
  viewRows,
  viewSummary,
} from '../views/approval.js';
import { viewLook } from '../views/batch-content.js';
import type { Unit } from '../views/unit.js';
import { type HeldApproval, holdApproval, type Repeat, repeatBy, TYPE_DIGEST } from './approval-limits.js';
import { type BatchName, batchName, readApproval } from './approval-source.js';
import { lookUntil } from './chain-agrees.js';
import { requireExecutesFromChain } from './execute-batch.js';
import { pinsForApproval, refuse, requireChain, requireOwner } from './pins.js';
import {
  checkApproval,
  type Expectation,
  expectationOf,
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
interface Judgement {
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

const summedFor = ({ opened, review, pins, unit }: Judgement, held: HeldApproval): Summed =>
  summedUp(review, { mint: pins.mint, signer: pins.owner, earlier: held }, opened.foresight, unit);

function showJudgement(
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
  }).catch(withdrawing(session, batchId));
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
    expectation === null
      ? { hint: `Add ${yes ? '' : '--yes and '}--expect with the pipelines file or its digest.` }
      : {},
  );
}

interface Options {
  readonly expect?: string;
  readonly again?: true;
}

type WalletApproved =
  | { readonly batchId: Uuid; readonly approved: true; readonly signature: string }
  | { readonly batchId: Uuid; readonly alreadyApproved: true };

export async function approveWithWallet(session: Session, source: string, options: Options): Promise<void> {
  const expectation = await expectationOf(session, options.expect);
  // The issued approval is not used: the wallet signs its own.
  const id = isUuid(source) ? source : (await readApproval(session, source)).batch.id;
  const batchId = id.toLowerCase() as Uuid;
  const repeat = await repeatBy(session, batchId, options);
  const result = await repeatable(session, async () => {
    const batch = batchName(await getBatch(session, batchId));
    return approveInWallet(session, { batch, expectation, repeat }, options.expect);
  });
  session.output.result(result, (style) => [
    'signature' in result
      ? style.good(`Approved batch ${batchId}: ${result.signature}`)
      : `Batch ${batchId} is already approved. Nothing was signed.`,
    `Next: ${commandLine(session.settings, 'batch', 'execute', batchId)}`,
  ]);
}

/**
 * Checks a batch as `batch approve` does, and lets the owner approve on the page.
 * @param name - file or digest that the batch is compared with, for the page.
 * @param onSigned - called before the approval is sent.
 * @throws `ERR_APPROVAL_REFUSED` with the reason; `ERR_DECLINED`, `ERR_TIMEOUT`.
 */
export async function approveInWallet(
  session: Session,
  asked: Omit<ToApprove, 'wire'>,
  name: string | undefined,
  onSigned: () => void = () => undefined,
): Promise<WalletApproved> {
  const { batch, expectation, repeat } = asked;
  const { id: batchId } = batch;
  const judgement = await judge(session, { ...asked, wire: null }, null);
  const { opened, chain, pins, review } = judgement;
  if (review.isApproved) return { batchId, alreadyApproved: true };
  await requireWalletPays(opened, pins.owner);
  await requireExecutesFromChain(session, batchId);
  const held = await holdApproval(session, batchId, review, { repeat, isAsked: true });
  showJudgement(session, judgement, held, expectation);
  const { context, settings, output } = session;
  const { typed } = held;
  if (typed !== null && settings.yes && expectation === null)
    throw refuse('Large batch: --yes needs --expect. Nothing was signed.');
  const question = `Approve batch ${batchId} in the wallet? ${TYPE_DIGEST}`;
  if (typed !== null) await requireConsent(session, question, { typed, otherwise: 'Nothing was signed.' });
  const { servePage } = await import('../../wallet-page/serve-page.js');
  const { multisig, owner } = pins;
  const { batchIndex } = batch;
  /** Last valid block height by blockhash, of each transaction that a page received. */
  const given = new Map<string, bigint>();
  return servePage<WalletApproved>({
    facts: { ...factsOf(judgement, batchId, name, held), chain: await opened.walletChain() },
    prepare: async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      given.set(blockhash, lastValidBlockHeight);
      return buildApproval({ owner, multisig, batchIndex, blockhash });
    },
    take: async (wire) => {
      const blockhashes = new Set(given.keys());
      const vote = checkWalletVote(wire, { multisig, batchIndex, owner, blockhashes });
      // A signed approval counts towards the limits, whatever its outcome.
      held.signed();
      onSigned();
      return send(session, judgement, batch, vote, given.get(vote.blockhash) ?? 0n);
    },
    onListening: (url) => {
      output.show(`Open this link in the browser that has your wallet:\n${url}`);
      output.progress.show('waiting for the wallet …');
    },
    signal: context.signal,
    timeoutMs: settings.waitSeconds.value * 1_000,
  })
    .catch(withdrawing(session, batchId))
    .finally(() => output.progress.clear());
}

/** A no takes back the consent to pay again with which the batch was set up. */
const withdrawing = (session: Session, batchId: string) => async (error: unknown) => {
  if (isFlywheelError(error, 'ERR_DECLINED'))
    (await (await session.service()).journal())
      .ofBatch(batchId)
      ?.note({ declined: true, allowChanged: false });
  throw error;
};

/** A wallet would sign a vote that cannot be sent or paid. @throws `ERR_APPROVAL_REFUSED`, `ERR_INSUFFICIENT_FUNDS` */
export async function requireWalletPays(opened: OpenedService, owner: Address): Promise<void> {
  requireSender(opened);
  const [account] = await requireChain(opened).getAccounts([owner]);
  if ((account?.lamports ?? 0n) >= LAMPORTS_PER_SIGNATURE) return;
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `With --wallet the owner pays the fee. The owner ${owner} has ${account?.lamports ?? 0n} lamports and needs ${LAMPORTS_PER_SIGNATURE}.`,
    { hint: 'Send SOL to the owner. Then run the command again.' },
  );
}

function requireSender({ sender }: OpenedService): ChainSender {
  if (sender !== null) return sender;
  throw refuse('No RPC node is set to send the approval. Nothing was signed.');
}

/** @param expected - file or digest that the batch was compared with */
function factsOf(judgement: Judgement, batchId: Uuid, expected: string | undefined, held: HeldApproval) {
  const { review, pins, unit } = judgement;
  const { digest } = review.description;
  const rows = viewRows(review, held, unit, plainStyle(Number.POSITIVE_INFINITY));
  return {
    title: viewQuestion(review, held, unit),
    warnings: [
      ...held.alarms,
      ...(expected === undefined
        ? ['The batch was not compared with a pipelines file. Add --expect FILE to compare it.']
        : []),
    ],
    summary: [
      ...summaryOf(summedFor(judgement, held), unit).flatMap(([label, value]) =>
        // The warnings have the problems.
        value == null || ALARM.test(label) ? [] : [[label, String(value)] as const],
      ),
      ...held.news.map((text) => ['note', text] as const),
      ['batch id', batchId] as const,
      ['checked', `pins of your project${expected === undefined ? '' : `; ${expected}`}`] as const,
    ],
    rows: rows.map((text) => {
      const kind = !text.startsWith(' ') ? 'pipeline' : text.endsWith(']') ? 'marked' : 'action';
      return { text: text.trim(), kind } as const;
    }),
    digest: digest === null ? null : digestText(digest),
    owner: pins.owner,
  };
}

/** Sends the same bytes until the outcome is known. @throws `ERR_OUTCOME_UNKNOWN` after the timeout. */
async function send(
  session: Session,
  { opened, chain, pins: { multisig, owner } }: Judgement,
  { id: batchId, batchIndex }: BatchName,
  { wire, signature, priorityFeeLamports, assertions }: WalletVote,
  lastValidBlockHeight: bigint,
): Promise<Taken<WalletApproved>> {
  const { context, settings, output } = session;
  if (priorityFeeLamports > 0n)
    output.tell(`The wallet added a priority fee of at most ${priorityFeeLamports} lamports.`);
  if (assertions.length > 0) output.tell(`The wallet added Lighthouse assertions: ${assertions.join(', ')}.`);
  const deadlineMs = context.clock.nowMs() + settings.waitSeconds.value * 1_000;
  const outcome = await requireSender(opened)(wire, { lastValidBlockHeight, deadlineMs });
  const done = (text: string, result: WalletApproved) => ({ state: 'done', text, result }) as const;
  // The owner may have approved with another tool; then the chain refuses this approval.
  const error = outcome.kind === 'landed' ? outcome.record.error : null;
  const isRefused = outcome.kind === 'never' || error !== null;
  const proposal =
    (isRefused && (await readBatchAccounts(chain, { multisig, batchIndex }, 0)).proposal.value) || null;
  const kind = proposal?.status.kind;
  if (proposal?.approved.includes(owner) === true && kind !== 'Rejected' && kind !== 'Cancelled')
    return done(`Batch ${batchId} is already approved.`, { batchId, alreadyApproved: true });
  if (outcome.kind === 'open')
    throw outcomeUnknown(
      `The outcome of the approval ${signature} is unknown: ${outcome.problem?.message ?? 'the chain has no answer yet.'} ${refusalText(outcome)}`.trim(),
    );
  if (outcome.kind === 'never')
    return {
      state: 'again',
      text: `${refusalText(outcome)}The approval expired before it landed. Nothing was approved. Approve again.`,
    };
  if (error !== null)
    throw new FlywheelError(
      'ERR_BATCH_EXECUTE_FAILED',
      `The approval ${signature} failed on chain: ${reasonText(error)}.`,
    );
  return done(`Batch ${batchId} is approved: ${signature}.`, { batchId, approved: true, signature });
}

const refusalText = ({ rejection }: { readonly rejection: Rejection | null }): string =>
  rejection === null ? '' : `The chain refuses the approval: ${reasonText(rejection.error)}. `;

const reasonText = (error: TransactionError): string =>
  'custom' in error ? `error ${error.custom}` : error.error;
