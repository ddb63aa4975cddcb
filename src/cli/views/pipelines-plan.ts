/** The sums of a pipelines file as people read them. */
import type { PipelinesPlan } from '../input/pipelines-plan.js';
import type { Style } from '../output/color.js';
import { fieldLines } from '../output/table.js';

/** The plan of a dry run. */
export const viewPipelinesPlan = (plan: PipelinesPlan, style: Style): readonly string[] => [
  style.good('The file is good; nothing was sent.'),
  ...fieldLines(
    [
      ['pipelines', String(plan.pipelines)],
      ['burns', `${plan.actions.burn}, ${plan.totalBurn} tokens`],
      ['airdrops', `${plan.actions.airdrop}, ${plan.totalAirdrop} tokens`],
      ['memos', String(plan.actions.memo)],
      ['digest', plan.digest],
    ],
    style.dim,
  ),
];
