/** Burns as people read them. */
import type { BurnsForesight } from '../../contract/dry-run.js';
import type { BurnResult } from '../../contract/schemas/burn.js';
import type { BurnPlan } from '../burn/burn-plan.js';
import { changeField, notForeseen, type Outlook, usedField } from '../dry-run.js';
import { sumAmounts } from '../input/amount.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines } from '../output/table.js';
import { linkFields } from './links.js';
import { tokensText } from './unit.js';

/** What a burn took away, and what it left. */
export interface Burned {
  /** Whole tokens. */
  readonly amount: number;
  readonly symbol: string | null;
  /** `null` where a network would have to be asked. */
  readonly left: Pick<BurnsForesight, 'burnWallet' | 'supply'> | null;
}

/** One burn that was done. */
export const viewBurn = (
  burn: BurnResult,
  { amount, symbol, left }: Burned,
  style: Style,
): readonly string[] => [
  style.good(`Burned ${tokensText(sumAmounts([amount]), symbol)}.`),
  ...fieldLines(
    [
      ...(left === null
        ? []
        : ([
            ['burn wallet', `${tokensText(left.burnWallet.after, symbol)} left`],
            ['supply', `${tokensText(left.supply.after, symbol)} left`],
          ] as const)),
      ['transaction', burn.txHash],
      ...linkFields(style, 'tx', burn.txHash),
      ['proof hash', burn.hash],
      ['proof type', burn.type],
      ['date', burn.dateBurned],
    ],
    style,
  ),
];

/** What a burn would come to. */
export function viewBurnPlan(plan: BurnPlan, outlook: Outlook, style: Style): readonly string[] {
  const { foreseen } = plan;
  return [
    style.good('Nothing was sent.'),
    ...fieldLines(
      [
        ['amount', tokensText(sumAmounts([plan.amount]), outlook.symbol)],
        ['proof hash', plan.hash],
        ['proof type', plan.type],
        ...(foreseen === null ? [] : burnFields(foreseen, outlook.symbol)),
        ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
      ],
      style,
    ),
  ];
}

/** What burns would change. */
export const burnFields = (
  { burnWallet, supply, usedToday }: NonNullable<BurnPlan['foreseen']>,
  symbol: string | null,
): readonly Field[] => [
  changeField('burn wallet', burnWallet, symbol),
  changeField('supply', supply, symbol),
  usedField('daily burn', usedToday, symbol),
];
