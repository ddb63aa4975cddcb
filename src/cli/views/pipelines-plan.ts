/** The sums of a pipelines file as people read them. */
import type { BatchPlan } from '../batch/dry-run.js';
import { changeField, notForeseen, type Outlook, usedField } from '../dry-run.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';
import { grouped, solText, tokensText } from './unit.js';

/** The plan of a dry run. */
export const viewPipelinesPlan = (plan: BatchPlan, outlook: Outlook, style: Style): readonly string[] => [
  style.good('The file is valid. Nothing was sent.'),
  ...fieldLines(
    [
      ['pipelines', grouped(plan.pipelines)],
      ...Object.entries(plan.actions).map(([name, count]): Field => {
        const total = { burn: plan.totalBurn, airdrop: plan.totalAirdrop }[name];
        return [
          `${name}s`,
          total === undefined ? grouped(count) : `${grouped(count)}, ${tokensText(total, outlook.symbol)}`,
        ];
      }),
      ['digest', plan.digest],
      ...(plan.foreseen === null ? [] : foreseenFields(plan.foreseen, outlook.symbol)),
      ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
    ],
    style,
  ),
];

const foreseenFields = (
  { vault, supply, usedToday, costs }: NonNullable<BatchPlan['foreseen']>,
  symbol: string | null,
): readonly Field[] => [
  changeField('vault', vault, symbol),
  changeField('supply', supply, symbol),
  usedField('daily burn', usedToday.burn, symbol),
  usedField('daily airdrop', usedToday.airdrop, symbol),
  ['fees', `at most ${solText(costs.feeLamports)}, paid by the operator`],
  ['token accounts', `${solText(costs.vaultRentLamports)} of rent for new recipients, paid by the vault`],
  [
    'batch rent',
    `${solText(costs.rentPaidLamports)}, paid by the operator and returned when the batch is closed`,
  ],
];
