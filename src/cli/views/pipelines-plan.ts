/** The sums of a pipelines file as people read them. */
import type { BatchPlan } from '../batch/dry-run.js';
import { changeField, notForeseen, type Outlook } from '../foresight.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';

/** The plan of a dry run. */
export const viewPipelinesPlan = (plan: BatchPlan, outlook: Outlook, style: Style): readonly string[] => [
  style.good('The file is good; nothing was sent.'),
  ...fieldLines(
    [
      ['pipelines', String(plan.pipelines)],
      ...Object.entries(plan.actions).map(([name, count]): Field => {
        const total = { burn: plan.totalBurn, airdrop: plan.totalAirdrop }[name];
        return [`${name}s`, total === undefined ? String(count) : `${count}, ${total} tokens`];
      }),
      ['digest', plan.digest],
      ...(plan.foreseen === null ? [] : foreseenFields(plan.foreseen)),
      ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
    ],
    style.dim,
  ),
];

const foreseenFields = ({
  vault,
  supply,
  usedToday,
  rent,
}: NonNullable<BatchPlan['foreseen']>): readonly Field[] => [
  changeField('vault', vault),
  changeField('supply', supply),
  changeField('burned today', usedToday.burn),
  changeField('airdropped today', usedToday.airdrop),
  ['rent until closed', rent],
];
