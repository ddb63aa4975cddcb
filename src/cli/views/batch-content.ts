/** What a batch will really do, as the one who approves it reads it. Addresses are whole; what is not understood is loud. */

import { digestText } from '../../actions/pipelines.js';
import { actionText, inText, type Operation } from '../../actions/registry.js';
import { multisigFacts } from '../../approval/flywheel-facts.js';
import type { Facts } from '../../approval/pins.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import type { Change } from '../../approval/simulate.js';
import type { Flywheel } from '../../chain/flywheel.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Review } from '../batch/review.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines } from '../output/table.js';

/** What an amount is counted in. */
type Token = Pick<Flywheel, 'decimals'>;

/** Lamports in a SOL, as decimals. */
const SOL_DECIMALS = 9;

/** Sums of a batch in whole tokens as decimal text, from its instructions; what is not understood is in neither. */
export function contentTotals(
  { transactions }: Pick<BatchDescription, 'transactions'>,
  { decimals }: Token,
): { burn: string; airdrop: string } {
  const operations = transactions.flatMap((transaction) => transaction.operations);
  const sum = (kind: 'burn' | 'transfer'): string =>
    formatTokenAmount(
      operations.reduce((total, one) => total + (one.kind === kind && 'amount' in one ? one.amount : 0n), 0n),
      decimals,
    );
  return { burn: sum('burn'), airdrop: sum('transfer') };
}

/** What one instruction does. */
function operationText(operation: Operation, { decimals }: Token): string {
  switch (operation.kind) {
    case 'burn':
      return `burn ${formatTokenAmount(operation.amount, decimals)} of mint ${operation.mint} from ${operation.account}`;
    case 'transfer':
      return `transfer ${formatTokenAmount(operation.amount, decimals)} of mint ${operation.mint} from ${operation.from} to ${operation.to}`;
    case 'createTokenAccount':
      return `create token account ${operation.account} of ${operation.owner} for mint ${operation.mint}`;
    case 'memo':
      return `memo ${JSON.stringify(operation.text)}`;
    case 'unknown':
      return `NOT UNDERSTOOD: ${operation.reason}`;
  }
}

function contentLines(description: BatchDescription, token: Token, style: Style): readonly string[] {
  const { pipelines, transactions, pipelinesProblem } = description;
  if (pipelines !== null)
    return pipelines.flatMap(({ type, proofHash, actions }, at) => [
      `${at + 1}. ${safeLine(type)} ${style.dim(proofHash)}`,
      ...actions.map((action) => `   ${safeLine(actionText(inText(action, token.decimals)))}`),
    ]);
  return [
    style.bad(`NOT A BATCH OF PIPELINES. ${safeLine(pipelinesProblem ?? '')}`),
    ...transactions.flatMap(({ number, address, operations, problem }) => [
      `transaction ${number} ${style.dim(address)}`,
      ...(problem === null ? [] : [style.bad(`   NOT UNDERSTOOD: ${safeLine(problem)}`)]),
      ...operations.map((operation) => {
        const line = `   ${safeLine(operationText(operation, token))}`;
        return operation.kind === 'unknown' ? style.bad(line) : line;
      }),
    ]),
  ];
}

/** How a proposal stands, and whether its votes still count. */
function proposalText({ proposal, batchIndex, multisigAccount }: BatchDescription): string {
  const { approved, rejected, cancelled, status } = proposal;
  const isStale = batchIndex <= multisigAccount.staleTransactionIndex;
  const votes = `${approved.length} of ${multisigAccount.threshold} approvals, ${rejected.length} rejections, ${cancelled.length} cancellations`;
  return `${status.kind}${isStale ? ', STALE' : ''}, ${votes}`;
}

const factFields = (facts: Facts): readonly Field[] =>
  Object.entries(facts).map(([name, value]) => [safeLine(name), safeLine(value)]);

/** The batch, its pipelines in order, who may act on it, and the totals. */
export function viewBatchContent(
  description: BatchDescription,
  token: Token,
  style: Style,
): readonly string[] {
  const { multisig, batchIndex, proposal, proposalAddress, vault, digest, multisigAccount } = description;
  const totals = contentTotals(description, token);
  return [
    style.bold(`Batch ${batchIndex} of multisig ${multisig}`),
    ...contentLines(description, token, style),
    ...fieldLines(
      [
        ['proposal', `${proposalAddress} (${proposalText(description)})`],
        ...proposal.approved.map((member): Field => ['approved by', member]),
        ...factFields(multisigFacts(multisigAccount)),
        ['vault', vault],
        ['transactions', String(description.transactions.length)],
        ['total burn', totals.burn],
        ['total airdrop', totals.airdrop],
        ['digest', digest === null ? 'none' : digestText(digest)],
      ],
      style.dim,
    ),
  ];
}

const changeText = ({ before, after }: Change, decimals: number): string =>
  `${formatTokenAmount(before, decimals)} before, ${formatTokenAmount(after, decimals)} after`;

/** A batch that has been looked into, with the flywheel that it acts for and what it would change. */
export function viewReview({ description, token, changes }: Review, style: Style): readonly string[] {
  const { flywheel } = token;
  const { decimals } = flywheel;
  return [
    ...viewBatchContent(description, flywheel, style),
    ...fieldLines(
      [
        ['mint', flywheel.mint],
        ...factFields(token.facts),
        ...(changes === null
          ? [['simulated', 'no'] as const]
          : [
              ['vault tokens', changeText(changes.vaultTokens, decimals)] as const,
              ['vault SOL', changeText(changes.vaultLamports, SOL_DECIMALS)] as const,
              ['supply', changeText(changes.supply, decimals)] as const,
            ]),
      ],
      style.dim,
    ),
  ];
}
