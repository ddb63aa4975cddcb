/** Burns as people read them. */
import type { BurnResult, BurnState } from '../../contract/schemas/burn.js';
import type { BurnPlan } from '../burn/burn-plan.js';
import { changeField, notForeseen, type Outlook } from '../foresight.js';
import type { Style } from '../output/color.js';
import { safeLine } from '../output/safe-text.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { linkFields } from './links.js';

/** One burn that was done. */
export const viewBurn = (burn: BurnResult, style: Style): readonly string[] => [
  style.good(`Burned: ${safeLine(burn.result)}`),
  ...fieldLines(
    [
      ['transaction', burn.txHash],
      ...linkFields(style, 'tx', burn.txHash),
      ['proof hash', burn.hash],
      ['proof type', burn.type],
      ['date', burn.dateBurned],
    ],
    style.dim,
  ),
];

/** What a burn would come to. */
export function viewBurnPlan(plan: BurnPlan, outlook: Outlook, style: Style): readonly string[] {
  const { foreseen } = plan;
  return [
    style.good('Nothing was sent.'),
    ...fieldLines(
      [
        ['amount', String(plan.amount)],
        ['proof hash', plan.hash],
        ['proof type', plan.type],
        ...(foreseen === null ? [] : burnFields(foreseen)),
        ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
      ],
      style.dim,
    ),
  ];
}

/** What burns would change. */
export const burnFields = ({
  burnWallet,
  supply,
  usedToday,
}: NonNullable<BurnPlan['foreseen']>): readonly Field[] => [
  changeField('burn wallet', burnWallet),
  changeField('supply', supply),
  changeField('burned today', usedToday),
];

/** Burns, one a line; what failed says why below. */
export function viewBurnList(burns: readonly BurnState[], style: Style): readonly string[] {
  if (burns.length === 0) return ['There is no burn.'];
  const rows = burns.map(({ dateBurned, dateCreated, type, amount, status, txHash }) => [
    dateBurned ?? dateCreated,
    type,
    amount,
    status,
    txHash,
  ]);
  return tableLines(
    [
      { title: 'date' },
      { title: 'type' },
      { title: 'amount', align: 'right' },
      { title: 'status' },
      { title: 'transaction' },
    ],
    rows,
    style.width,
  );
}
