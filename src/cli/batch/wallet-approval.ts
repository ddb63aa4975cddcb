/** `--wallet`: the owner signs in a browser wallet, and flywheel sends the vote to the user's chain. */
import { digestText } from '../../actions/pipelines.js';
import { buildApproval, checkWalletVote, type WalletVote } from '../../approval/check-vote.js';
import { LAMPORTS_PER_SIGNATURE } from '../../chain/account.js';
import type { Rejection, TransactionError } from '../../chain/chain.js';
import type { ChainSender } from '../../chain/send.js';
import { readBatchAccounts } from '../../chain/squads/read-accounts.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import { isUuid, type Uuid } from '../../values/ids.js';
import type { Taken } from '../../wallet-page/serve-page.js';
import type { Session } from '../command.js';
import { requireConsent } from '../consent.js';
import type { OpenedService } from '../context.js';
import { getBatch } from '../operation/done-there.js';
import { commandLine, repeatable } from '../operation/resume-line.js';
import { outcomeUnknown } from '../operation/verdicts.js';
import { plainStyle } from '../output/color.js';
import { ALARM, summaryOf, viewQuestion, viewRows } from '../views/approval.js';
import { type HeldApproval, holdApproval, repeatBy, TYPE_DIGEST } from './approval-limits.js';
import { type BatchName, batchName, readApproval } from './approval-source.js';
import { type Judgement, judge, showJudgement, summedFor, type ToApprove } from './approve-batch.js';
import { requireExecutesFromChain } from './execute-batch.js';
import { refuse, requireChain } from './pins.js';
import { type Expectation, expectationOf } from './review.js';

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
  const { opened, pins, review } = judgement;
  if (review.isApproved) return { batchId, alreadyApproved: true };
  await requireWalletPays(opened, pins.owner);
  await requireExecutesFromChain(session, batchId);
  const held = await holdApproval(session, batchId, review, { repeat, isAsked: true });
  showJudgement(session, judgement, held, expectation);
  await requireDigest(session, batchId, held, expectation);
  const signed = (): void => {
    held.signed();
    onSigned();
  };
  return serve(session, judgement, batch, signed, factsOf(judgement, batchId, name, held));
}

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

async function requireDigest(
  session: Session,
  batchId: Uuid,
  { typed }: HeldApproval,
  expectation: Expectation | null,
): Promise<void> {
  if (typed === null) return;
  if (session.settings.yes && expectation === null)
    throw refuse('Large batch: --yes needs --expect. Nothing was signed.');
  await requireConsent(session, `Approve batch ${batchId} in the wallet? ${TYPE_DIGEST}`, {
    typed,
    otherwise: 'Nothing was signed.',
  });
}

/** @param signed - called for a signed approval, before it is sent */
async function serve(
  session: Session,
  { opened, chain, pins }: Judgement,
  { id: batchId, batchIndex }: BatchName,
  signed: () => void,
  facts: ReturnType<typeof factsOf>,
): Promise<WalletApproved> {
  const { context, settings, output } = session;
  const sender = requireSender(opened);
  const { servePage } = await import('../../wallet-page/serve-page.js');
  const { multisig, owner } = pins;
  /** Last valid block height by blockhash, of each transaction that a page received. */
  const given = new Map<string, bigint>();
  return servePage<WalletApproved>({
    facts: { ...facts, chain: await opened.walletChain() },
    prepare: async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      given.set(blockhash, lastValidBlockHeight);
      return buildApproval({ owner, multisig, batchIndex, blockhash });
    },
    take: async (wire) => {
      const blockhashes = new Set(given.keys());
      const vote = checkWalletVote(wire, { multisig, batchIndex, owner, blockhashes });
      // A signed approval counts towards the limits, whatever its outcome.
      signed();
      const isApproved = async (): Promise<boolean> => {
        const { proposal } = await readBatchAccounts(chain, { multisig, batchIndex }, 0);
        const { status, approved = [] } = proposal.value ?? {};
        return approved.includes(owner) && status?.kind !== 'Rejected' && status?.kind !== 'Cancelled';
      };
      return send(session, sender, batchId, vote, given.get(vote.blockhash) ?? 0n, isApproved);
    },
    onListening: (url) => {
      output.show(`Open this link in the browser that has your wallet:\n${url}`);
      output.progress.show('waiting for the wallet …');
    },
    signal: context.signal,
    timeoutMs: settings.waitSeconds.value * 1_000,
  }).finally(() => output.progress.clear());
}

/** Sends the same bytes until the outcome is known. @throws `ERR_OUTCOME_UNKNOWN` after the timeout. */
async function send(
  session: Session,
  sender: ChainSender,
  batchId: Uuid,
  { wire, signature, priorityFeeLamports, assertions }: WalletVote,
  lastValidBlockHeight: bigint,
  isApproved: () => Promise<boolean>,
): Promise<Taken<WalletApproved>> {
  const { context, settings, output } = session;
  if (priorityFeeLamports > 0n)
    output.tell(`The wallet added a priority fee of at most ${priorityFeeLamports} lamports.`);
  if (assertions.length > 0) output.tell(`The wallet added Lighthouse assertions: ${assertions.join(', ')}.`);
  const deadlineMs = context.clock.nowMs() + settings.waitSeconds.value * 1_000;
  const outcome = await sender(wire, { lastValidBlockHeight, deadlineMs });
  const done = (text: string, result: WalletApproved) => ({ state: 'done', text, result }) as const;
  // The owner may have approved with another tool; then the chain refuses this approval.
  const error = outcome.kind === 'landed' ? outcome.record.error : null;
  const isRefused = outcome.kind === 'never' || error !== null;
  if (isRefused && (await isApproved()))
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
