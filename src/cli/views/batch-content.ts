/** What a batch will really do, as the one who approves it reads it. Addresses are whole. */

import type { Usage } from '../../actions/action.js';
import { digestText } from '../../actions/pipelines.js';
import { actionText, inText, totalOf } from '../../actions/registry.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import type { Flywheel } from '../../chain/flywheel.js';
import { formatTokenAmount } from '../../values/token-amount.js';

import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { fieldLines } from '../output/table.js';

/** What an amount is counted in. */
type Token = Pick<Flywheel, 'decimals'>;

/** Sums of a batch in whole tokens as decimal text. */
export function contentTotals(
  { pipelines }: BatchDescription,
  { decimals }: Token,
): { burn: string; airdrop: string } {
  const actions = (pipelines ?? []).flatMap((pipeline) => pipeline.actions);
  const sum = (usage: Usage): string => formatTokenAmount(totalOf(usage, actions), decimals);
  return { burn: sum('burn'), airdrop: sum('airdrop') };
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
      ...actions.map((action) => `   ${safeLine(actionText(inText(action, token.decimals)))}`),
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
