/**
 * `batch approve --wallet` as an operation: what a wallet has signed is noted before it is sent, so that whoever runs the command
 * again looks that up first, and nobody signs twice without need.
 */
import { buildApproval } from '../../approval/build-approval.js';
import { checkWalletVote, type WalletVote } from '../../approval/check-wallet-vote.js';
import type { RecentBlockhash, Rejection, SendOutcome, TransactionError } from '../../chain/chain.js';
import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import type { Uuid } from '../../values/ids.js';
import type { Taken } from '../../wallet-page/serve-page.js';
import type { Session } from '../command.js';
import { requireConsent } from '../consent.js';
import type { Entry, Notes } from '../journal/journal.js';
import { commandLine } from '../operation/resume-line.js';
import type { Performed, Work } from '../operation/run-operation.js';
import { type HeldApproval, holdApproval, TYPE_DIGEST } from './approval-limits.js';
import { batchName } from './approval-source.js';
import { requireExecutesFromChain } from './approved-on-chain.js';
import { type Expectation, readExpectation } from './expectation.js';
import { getBatch } from './initiate.js';
import { refuse } from './pins.js';
import {
  requireGround,
  reviewForWallet,
  showReview,
  type WalletGround,
  type WalletReview,
} from './wallet-review.js';

/** What is printed. */
export type WalletApproved =
  | { readonly batchId: Uuid; readonly approved: true; readonly signature: string }
  | { readonly batchId: Uuid; readonly alreadyApproved: true };

/** A transaction that was or is about to be sent. */
interface SentVote {
  readonly signature: string;
  /** Base64. */
  readonly wire: string;
  readonly lastValidBlockHeight: string;
}

/** What is noted of the operation. */
interface WalletNote {
  readonly sent: readonly SentVote[];
  /** `sha256:…` of what the batch is to hold, or `null`. */
  readonly expect: string | null;
  /** Whether the batch is tried out before. */
  readonly simulate: boolean;
}

/** The note with which it begins. */
export const walletNote = (expect: string | null, simulate: boolean): Notes => ({
  sent: [],
  expect,
  simulate,
});

const ANSWER = 'approve';
const AGAIN = 'It has expired before it landed. Nothing was approved; sign once more.';

export class WalletApprovalWork implements Work<WalletApproved> {
  readonly #session: Session;
  readonly #batchId: Uuid;
  /** As given now; else what was noted. */
  readonly #expectation: Expectation | null;
  /** A vote is on its way, and nobody knows whether it has landed. */
  #isOnItsWay = false;

  constructor(session: Session, batchId: Uuid, expectation: Expectation | null) {
    this.#session = session;
    this.#batchId = batchId;
    this.#expectation = expectation;
  }

  async perform(entry: Entry): Promise<Performed<WalletApproved>> {
    const stored = entry.answer(ANSWER) as WalletApproved | undefined;
    if (stored !== undefined) return { result: stored };
    this.#isOnItsWay = noteOf(entry).sent.length > 0;
    try {
      return done(await this.#approve(entry));
    } catch (error) {
      // What cannot land any more is nothing to come back to.
      throw isFlywheelError(error) && !this.#isOnItsWay ? error.with({ keyUnused: true }) : error;
    }
  }

  async #approve(entry: Entry): Promise<WalletApproved> {
    const ground = requireGround(await this.#session.service());
    for (const vote of noteOf(entry).sent) {
      const { kind } = await this.#settle(ground, vote);
      if (kind === 'landed') return approved(this.#batchId, vote.signature);
    }
    this.#isOnItsWay = false;
    const batch = batchName(await getBatch(this.#session, this.#batchId));
    const expectation = this.#expectation ?? (await notedExpectation(this.#session, entry));
    const review = await reviewForWallet(this.#session, ground, batch, {
      expectation,
      simulate: noteOf(entry).simulate,
    });
    if (review.isApproved) return { batchId: this.#batchId, alreadyApproved: true };
    await requireExecutesFromChain(this.#session, this.#batchId);
    const held = await holdApproval(this.#session, this.#batchId, review.review, review.pins);
    try {
      const { alarms, news } = held.remarks;
      const facts = { ...review.facts, warnings: [...alarms, ...news, ...review.facts.warnings] };
      showReview(this.#session, facts);
      await this.#requireDigest(held, expectation);
      return await this.#serve(entry, ground, { ...review, facts }, batch.batchIndex, held);
    } finally {
      held.close();
    }
  }

  /** A large batch is agreed to here, with its digest, before the wallet is asked. */
  async #requireDigest({ typed }: HeldApproval, expectation: Expectation | null): Promise<void> {
    if (typed === null) return;
    if (this.#session.settings.yes && expectation === null)
      throw refuse('The batch is a large one, and --yes names nothing; add --expect.');
    await requireConsent(this.#session, `Approve batch ${this.#batchId} in the wallet? ${TYPE_DIGEST}`, {
      ...{ typed, declined: 'Declined; nothing was signed.' },
    });
  }

  /** Serves the page until a signed approval has landed. */
  async #serve(
    entry: Entry,
    ground: WalletGround,
    review: WalletReview,
    batchIndex: bigint,
    held: HeldApproval,
  ): Promise<WalletApproved> {
    const { context, settings, output } = this.#session;
    const { servePage } = await import('../../wallet-page/serve-page.js');
    const { walletChain } = await this.#session.service();
    const chain = await walletChain();
    const { multisig, owner } = review;
    let recent: RecentBlockhash | undefined;
    return servePage<WalletApproved>({
      facts: { ...review.facts, chain },
      prepare: async () => {
        recent = await ground.chain.latestBlockhash();
        return buildApproval({ owner, multisig, batchIndex, blockhash: recent.blockhash });
      },
      take: async (wire) => {
        const { blockhash = '', lastValidBlockHeight = 0n } = recent ?? {};
        const vote = checkWalletVote(wire, { multisig, batchIndex, owner, blockhash });
        // It is signed: from here on it counts, whatever becomes of it.
        held.signed();
        return this.#send(entry, ground, vote, lastValidBlockHeight);
      },
      onListening: (url) => {
        output.show(`Open this in the browser that has your wallet; it can be opened once:\n${url}`);
        output.progress.show('waiting for the wallet …');
      },
      signal: context.signal,
      timeoutMs: settings.waitSeconds.value * 1_000,
    }).finally(() => output.progress.clear());
  }

  async #send(
    entry: Entry,
    ground: WalletGround,
    { wire, signature, priorityFeeLamports, assertions }: WalletVote,
    lastValidBlockHeight: bigint,
  ): Promise<Taken<WalletApproved>> {
    const { output } = this.#session;
    if (priorityFeeLamports > 0n)
      output.tell(`The wallet added a priority fee of at most ${priorityFeeLamports} lamports.`);
    if (assertions.length > 0) output.tell(`The wallet added ${assertions.join(', ')} of Lighthouse.`);
    const vote = {
      signature,
      wire: Buffer.from(wire).toString('base64'),
      lastValidBlockHeight: String(lastValidBlockHeight),
    };
    entry.note({ sent: [...noteOf(entry).sent, vote] });
    const outcome = await this.#settle(ground, vote);
    if (outcome.kind === 'expired') return { state: 'again', text: `${refusalText(outcome)}${AGAIN}` };
    if (outcome.kind === 'failed')
      throw new FlywheelError(
        'ERR_BATCH_EXECUTE_FAILED',
        `The approval ${signature} failed on chain: ${reasonText(outcome.record.error)}.`,
      );
    const text = `Batch ${this.#batchId} is approved: ${signature}.`;
    return { state: 'done', text, result: approved(this.#batchId, signature) };
  }

  /**
   * Sends the same bytes until it is known what became of them.
   * @throws `ERR_OUTCOME_UNKNOWN` when that takes longer than anybody waits.
   */
  async #settle({ sender }: WalletGround, vote: SentVote): Promise<Settled> {
    const { clock } = this.#session.context;
    this.#isOnItsWay = true;
    const outcome = await sender.submitAndConfirm(Buffer.from(vote.wire, 'base64'), {
      lastValidBlockHeight: BigInt(vote.lastValidBlockHeight),
      deadlineMs: clock.nowMs() + this.#session.settings.waitSeconds.value * 1_000,
    });
    if (outcome.kind === 'unknown')
      throw new FlywheelError(
        'ERR_OUTCOME_UNKNOWN',
        `What became of the approval ${vote.signature} is not known: ${outcome.problem?.message ?? 'the chain has not said.'} ${refusalText(outcome)}`.trim(),
      );
    this.#isOnItsWay = false;
    return outcome;
  }

  present(result: WalletApproved): undefined {
    const { batchId } = result;
    this.#session.output.result(result, (style) => [
      'signature' in result
        ? style.good(`Approved batch ${batchId}: ${result.signature}`)
        : `Batch ${batchId} is approved already; nothing was signed.`,
      `Next: ${commandLine(this.#session.settings, 'batch', 'execute', batchId)}`,
    ]);
  }

  summary(result: WalletApproved): string {
    return `Batch ${result.batchId} is approved${'signature' in result ? ` by ${result.signature}` : ' already'}.`;
  }
}

/** What became of a vote, once that is known. */
type Settled = Exclude<SendOutcome, { readonly kind: 'unknown' }>;

async function notedExpectation(session: Session, entry: Entry): Promise<Expectation | null> {
  const { expect } = noteOf(entry);
  return expect === null ? null : readExpectation(session, expect);
}

const noteOf = (entry: Entry): WalletNote => entry.notes as unknown as WalletNote;

const approved = (batchId: Uuid, signature: string): WalletApproved => ({
  batchId,
  approved: true,
  signature,
});

const done = (result: WalletApproved): Performed<WalletApproved> => ({
  result,
  verdict: { state: 'done', landed: [], answers: { [ANSWER]: result } },
});

/** Why the chain did not take it, where it said so. */
const refusalText = ({ rejection }: { readonly rejection: Rejection | null }): string =>
  rejection === null ? '' : `The chain refuses it: ${reasonText(rejection.error)}. `;

const reasonText = (error: TransactionError | null): string =>
  error === null ? 'unknown' : 'custom' in error ? `error ${error.custom}` : error.error;
