/** What is found out about a batch before a wallet is asked to sign its approval, and how the page shows it. */
import { digestText } from '../../actions/pipelines.js';
import type { Pins } from '../../approval/pins.js';
import { LAMPORTS_PER_SIGNATURE } from '../../chain/account.js';
import type { ChainReader, ChainSender } from '../../chain/chain.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { PageFacts } from '../../wallet-page/page-script.js';
import type { Session } from '../command.js';
import type { OpenedService } from '../context.js';
import { plainStyle } from '../output/color.js';
import { viewLook } from '../views/batch-content.js';
import type { BatchName } from './approval-source.js';
import { awaitSetUp } from './catch-up.js';
import { noChain, pinsForApproval } from './pins.js';
import { type Review, type ReviewInput, requireOwnMultisig, reviewBatch, unitOf } from './review.js';

/** The chain that is read and sent to. */
export interface WalletGround {
  readonly chain: ChainReader;
  readonly sender: ChainSender;
}

/**
 * What signing in a wallet cannot do without; nothing of it may be left unverified.
 * @throws `ERR_APPROVAL_REFUSED`
 */
export function requireGround({ chain, sender }: OpenedService): WalletGround {
  if (chain === null || sender === null) throw noChain();
  return { chain, sender };
}

/** A batch that may be approved. */
export interface WalletReview {
  readonly review: Review;
  readonly pins: Pins;
  readonly multisig: Address;
  readonly owner: Address;
  /** The owner's approval stands on chain. */
  readonly isApproved: boolean;
  readonly facts: Omit<PageFacts, 'chain'>;
}

/**
 * Reads, tries out and judges a batch as `batch approve` does.
 * @throws `ERR_APPROVAL_REFUSED` with the reason, `ERR_UNAVAILABLE` when the chain is out of reach.
 */
export async function reviewForWallet(
  session: Session,
  { chain }: WalletGround,
  batch: BatchName,
  { expectation, simulate }: Omit<ReviewInput, 'batchIndex'>,
): Promise<WalletReview> {
  const opened = await session.service();
  const { id, batchIndex } = batch;
  const issued = { wire: new Uint8Array(), batch, pipelines: () => null };
  const pins = await pinsForApproval(session, opened, issued);
  requireOwnMultisig(pins, batch);
  await awaitSetUp(session, opened, pins.multisig, batchIndex);
  const review = await reviewBatch(chain, opened, pins, { batchIndex, expectation, simulate });
  const { description, isApproved } = review;
  const { owner } = pins;
  if (!isApproved) await requireFee(chain, owner);
  const notCompared = 'The batch was not compared with a pipelines file; --expect does that.';
  return {
    ...{ review, pins },
    multisig: pins.multisig,
    owner,
    isApproved,
    facts: {
      title: `Approve batch ${id}`,
      warnings: expectation === null ? [notCompared] : [],
      lines: viewLook(
        review,
        unitOf({ symbol: opened.symbol, trusted: null }, review),
        plainStyle(PAGE_COLUMNS),
      ),
      digest: description.digest === null ? null : digestText(description.digest),
      owner,
    },
  };
}

const PAGE_COLUMNS = 100;

/** A wallet would sign what cannot land. @throws `ERR_INSUFFICIENT_FUNDS` */
async function requireFee(chain: ChainReader, owner: Address): Promise<void> {
  const [account] = await chain.getAccounts([owner]);
  if ((account?.lamports ?? 0n) >= LAMPORTS_PER_SIGNATURE) return;
  throw new FlywheelError(
    'ERR_INSUFFICIENT_FUNDS',
    `The owner ${owner} pays for an approval that a wallet signs, and has ${account?.lamports ?? 0n} lamports; ${LAMPORTS_PER_SIGNATURE} are needed.`,
    { hint: 'Send it a little SOL, and run the command again.' },
  );
}

/** The same on the terminal, to compare the page with. */
export function showReview({ output }: Session, { warnings, lines }: WalletReview['facts']): void {
  output.show([...lines, ...warnings].join('\n'));
}
