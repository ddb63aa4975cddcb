/** The outcome of a burn-batch, and what a dry run found, as people read them. */
import type { ElementOutcome } from '../../contract/call.js';
import type { ForeseenFailure } from '../../contract/dry-run.js';
import type { BurnBatchPlan } from '../burn-batch/plan.js';
import type { Tally, Totals } from '../burn-batch/results.js';
import { notForeseen, type Outlook } from '../dry-run.js';
import type { Style } from '../output/color.js';
import { fieldLines, tableLines } from '../output/table.js';
import { burnFields } from './burn.js';
import { countText, grouped, tokensText } from './unit.js';

/** Errors that are listed; the file of `--failed-out` has all. */
export const MAX_LISTED = 50;

interface BurnBatchSummary {
  readonly totals: Totals;
  readonly symbol: string | null;
  /** The first of them. */
  readonly failures: readonly (ElementOutcome & { readonly status: 'error' })[];
}

/** How many burned, and why the others did not. */
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
        ...(failed.elements === 0 ? [] : [['failed', text(failed)] as const]),
        ['proofs on chain', grouped(proofs)],
      ],
      style,
    ),
    ...(failures.length === 0
      ? []
      : ['', style.bad('Failed'), ...failureLines(failures, style, failed.elements)]),
  ];
}

/** @param count - of all of them. */
function failureLines(
  failures: readonly ForeseenFailure[],
  style: Style,
  count = failures.length,
): readonly string[] {
  if (failures.length === 0) return [];
  const rows = failures
    .slice(0, MAX_LISTED)
    .map((failure) => [`[${failure.index}]`, failure.type, failure.message]);
  const more = count - rows.length;
  return [
    ...tableLines(
      [{ title: 'entry', align: 'right' }, { title: 'code' }, { title: 'reason', wraps: true }],
      rows,
      style.width,
    ),
    ...(more > 0 ? [`… and ${grouped(more)} more`] : []),
  ];
}

/** The plan of a dry run. */
export function viewBurnBatchPlan(plan: BurnBatchPlan, outlook: Outlook, style: Style): readonly string[] {
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
        ['total amount', tokensText(plan.totalAmount, outlook.symbol)],
        ...Object.entries(plan.types).map(
          ([type, { elements, amount }]) =>
            [type, `${countText(elements, 'burn')}, ${tokensText(amount, outlook.symbol)}`] as const,
        ),
        ...(foreseen === null ? [] : burnFields(foreseen, outlook.symbol)),
        ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
      ],
      style,
    ),
    ...failureLines(failures, style),
  ];
}
