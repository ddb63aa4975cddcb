/** What a batch will really do, as the one who approves it reads it. Addresses are whole. */
import { digestText, type PipelineAction } from '../../chain/approval/pipelines.js';
import type { BatchDescription } from '../../chain/approval/read-batch.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { TrustedFlywheel } from '../context.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines } from '../output/table.js';

/** What an amount is counted in. */
type Token = Pick<TrustedFlywheel, 'decimals'>;

function actionLine(action: PipelineAction, { decimals }: Token): string {
  switch (action.action) {
    case 'BURN':
      return `burn ${formatTokenAmount(action.amount, decimals)}`;
    case 'AIRDROP':
      return `airdrop ${formatTokenAmount(action.amount, decimals)} to ${action.toAddress}`;
    case 'MEMO':
      return `memo ${JSON.stringify(action.message)}`;
  }
}

/** Sums of a batch in whole tokens as decimal text. */
export function contentTotals(
  { pipelines }: BatchDescription,
  { decimals }: Token,
): { burn: string; airdrop: string } {
  const sum = (kind: 'BURN' | 'AIRDROP'): string => {
    let total = 0n;
    for (const { actions } of pipelines ?? [])
      for (const action of actions) if (action.action === kind) total += action.amount;
    return formatTokenAmount(total, decimals);
  };
  return { burn: sum('BURN'), airdrop: sum('AIRDROP') };
}

/** The batch, its pipelines in order, and the totals. */
export function viewBatchContent(
  description: BatchDescription,
  token: Token,
  style: Style,
): readonly string[] {
  const { multisig, batchIndex, proposal, proposalAddress, vault, pipelines, digest } = description;
  const totals = contentTotals(description, token);
  return [
    style.bold(`Batch ${batchIndex} of multisig ${multisig}`),
    ...(pipelines ?? []).flatMap(({ type, proofHash, actions }, at) => [
      `${at + 1}. ${safeLine(type)} ${style.dim(proofHash)}`,
      ...actions.map((action) => `   ${safeLine(actionLine(action, token))}`),
    ]),
    ...(description.pipelinesProblem === null ? [] : [style.bad(safeLine(description.pipelinesProblem))]),
    ...fieldLines(
      [
        ['proposal', `${proposalAddress} (${proposal.status.kind})`],
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
