/** The outcome of a burn-batch, and what a dry run found, as people read them. */
import type { ElementOutcome } from '../../contract/call.js';
import type { ForeseenFailure } from '../../contract/foresight.js';
import type { BurnBatchPlan } from '../burn-batch/plan.js';
import { notForeseen, type Outlook } from '../foresight.js';
import type { Style } from '../output/color.js';
import { fieldLines, tableLines } from '../output/table.js';
import { burnFields } from './burn.js';

/** Errors that are listed; the file of `--failed-out` has all. */
const MAX_LISTED = 50;

export interface BurnBatchSummary {
  readonly elements: number;
  readonly failures: readonly (ElementOutcome & { readonly status: 'error' })[];
}

/** How many burned, and why the others did not. */
export function viewBurnBatch({ elements, failures }: BurnBatchSummary, style: Style): readonly string[] {
  const done = style.good(`Burned ${elements - failures.length} of ${elements}.`);
  if (failures.length === 0) return [done];
  return [done, style.bad(`${failures.length} failed:`), ...failureLines(failures, style)];
}

function failureLines(failures: readonly ForeseenFailure[], style: Style): readonly string[] {
  if (failures.length === 0) return [];
  const rows = failures
    .slice(0, MAX_LISTED)
    .map((failure) => [String(failure.index), failure.type, failure.message]);
  const more = failures.length - rows.length;
  return [
    ...tableLines(
      [{ title: 'index', align: 'right' }, { title: 'code' }, { title: 'reason', wraps: true }],
      rows,
      style.width,
    ),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ];
}

/** The plan of a dry run. */
export function viewBurnBatchPlan(plan: BurnBatchPlan, outlook: Outlook, style: Style): readonly string[] {
  const { foreseen } = plan;
  const failures = foreseen?.failures ?? [];
  return [
    failures.length === 0
      ? style.good('The file is good; nothing was sent.')
      : style.bad(`${failures.length} of ${plan.elements} would fail; nothing was sent.`),
    ...fieldLines(
      [
        ['elements', String(plan.elements)],
        ['requests', String(plan.requests)],
        ['total amount', plan.totalAmount],
        ...Object.entries(plan.types).map(
          ([type, { elements, amount }]) => [type, `${elements} elements, ${amount}`] as const,
        ),
        ...(foreseen === null ? [] : burnFields(foreseen)),
        ...(outlook.foresight === null ? [notForeseen(outlook.reason)] : []),
      ],
      style.dim,
    ),
    ...failureLines(failures, style),
  ];
}
