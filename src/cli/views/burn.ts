/** Burns, results of a burn-batch and dry-run plans as text for people. */

import type { ElementOutcome } from '../../contract/call.js';
import type { BurnResult } from '../../contract/schemas/burn.js';
import { grouped } from '../../values/token-amount.js';
import type { tallyOf, totalsOf } from '../burn/requests.js';
import type { BurnsForesight } from '../context.js';
import { sumAmounts } from '../input/amount.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, tableLines } from '../output/table.js';
import { changeField, countText, linkField, tokensText, usedField } from './unit.js';

/** @param amount - with its unit */
export const viewBurn = (burn: BurnResult, amount: string, style: Style): readonly string[] => [
  style.good(`Burned ${amount}.`),
  ...fieldLines(
    [
      ['transaction', burn.txHash],
      linkField(style, 'tx', burn.txHash),
      ['proof hash', burn.hash],
      ['proof type', burn.type],
      ['date', burn.dateBurned],
    ],
    style,
  ),
];

type Tally = ReturnType<typeof tallyOf>;

interface BurnPlan {
  readonly type: string;
  readonly hash: string;
  readonly amount: number;
  /** `null`: no forecast here. */
  readonly foreseen: Omit<BurnsForesight, 'failures'> | null;
}

interface BurnBatchPlan {
  readonly elements: number;
  readonly requests: number;
  readonly totalAmount: string;
  readonly types: Readonly<Record<string, Tally>>;
  readonly foreseen: BurnsForesight | null;
}

export function viewBurnPlan(plan: BurnPlan, symbol: string | null, style: Style): readonly string[] {
  const { foreseen } = plan;
  return [
    style.good('Nothing was sent.'),
    ...fieldLines(
      [
        ['amount', tokensText(sumAmounts([plan.amount]), symbol)],
        ['proof hash', plan.hash],
        ['proof type', plan.type],
        ...burnFields(foreseen, symbol),
      ],
      style,
    ),
  ];
}

const burnFields = (foreseen: BurnPlan['foreseen'], symbol: string | null): readonly Field[] =>
  foreseen === null
    ? []
    : [
        changeField('burn wallet', foreseen.burnWallet, symbol),
        changeField('supply', foreseen.supply, symbol),
        usedField('daily burn', foreseen.usedToday, symbol),
      ];

/** Errors that are listed; `--failed-out` writes all. */
export const MAX_LISTED = 50;

interface BurnBatchSummary {
  readonly totals: ReturnType<typeof totalsOf>;
  readonly symbol: string | null;
  readonly failures: readonly (ElementOutcome & { readonly status: 'error' })[];
}

export function viewBurnBatch(
  { totals, failures, symbol }: BurnBatchSummary,
  style: Style,
): readonly string[] {
  const { burned, failed, proofs } = totals;
  const all = burned.elements + failed.elements;
  const head = `${grouped(burned.elements)} of ${countText(all, 'burn')} succeeded.`;
  const text = ({ elements, amount }: Tally): string =>
    `${countText(elements, 'burn')}, ${tokensText(amount, symbol)}`;
  return [
    failed.elements === 0 ? style.good(head) : style.warn(head),
    ...fieldLines(
      [
        ['burned', text(burned)],
        ['failed', failed.elements === 0 ? null : text(failed)],
        ['proofs on chain', grouped(proofs)],
      ],
      style,
    ),
    ...(failures.length === 0
      ? []
      : ['', style.bad('Failed'), ...failureLines(failures, style, failed.elements)]),
  ];
}

/** @param count - number of all failures, listed or not */
function failureLines(
  failures: BurnsForesight['failures'],
  style: Style,
  count = failures.length,
): readonly string[] {
  if (failures.length === 0) return [];
  const listed = failures.slice(0, MAX_LISTED);
  const more = count - listed.length;
  return [
    ...tableLines(
      listed,
      {
        entry: ({ index }) => grouped(index + 1),
        code: ({ type }) => type,
        reason: ({ message }) => message,
      },
      style.width,
      { right: ['entry'], wraps: 'reason' },
    ),
    ...(more > 0 ? [`… and ${grouped(more)} more`] : []),
  ];
}

export function viewBurnBatchPlan(
  plan: BurnBatchPlan,
  symbol: string | null,
  style: Style,
): readonly string[] {
  const { foreseen } = plan;
  const failures = foreseen?.failures ?? [];
  return [
    failures.length === 0
      ? style.good('The file is valid. Nothing was sent.')
      : style.bad(
          `${grouped(failures.length)} of ${countText(plan.elements, 'burn')} would fail. Nothing was sent.`,
        ),
    ...fieldLines(
      [
        ['burns', grouped(plan.elements)],
        ['requests', grouped(plan.requests)],
        ['total amount', tokensText(plan.totalAmount, symbol)],
        ...Object.entries(plan.types).map(
          ([type, { elements, amount }]) =>
            [type, `${countText(elements, 'burn')}, ${tokensText(amount, symbol)}`] as const,
        ),
        ...burnFields(foreseen, symbol),
      ],
      style,
    ),
    ...failureLines(failures, style),
  ];
}
