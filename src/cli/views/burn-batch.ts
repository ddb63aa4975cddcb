/** The outcome of a burn-batch, and what a dry run found, as people read them. */
import type { ElementOutcome } from '../../contract/call.js';
import type { Style } from '../output/color.js';
import { fieldLines, tableLines } from '../output/table.js';

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
  const rows = failures
    .slice(0, MAX_LISTED)
    .map((failure) => [String(failure.index), failure.type, failure.message]);
  const more = failures.length - rows.length;
  return [
    done,
    style.bad(`${failures.length} failed:`),
    ...tableLines(
      [{ title: 'index', align: 'right' }, { title: 'code' }, { title: 'reason', wraps: true }],
      rows,
      style.width,
    ),
    ...(more > 0 ? [`… and ${more} more`] : []),
  ];
}

/** What a burn-batch would send. */
export interface BurnBatchPlan {
  readonly dryRun: true;
  readonly elements: number;
  readonly requests: number;
  /** Whole tokens as decimal text. */
  readonly totalAmount: string;
  readonly types: Readonly<Record<string, { readonly elements: number; readonly amount: string }>>;
}

/** The plan of a dry run. */
export const viewBurnBatchPlan = (plan: BurnBatchPlan, style: Style): readonly string[] => [
  style.good('The file is good; nothing was sent.'),
  ...fieldLines(
    [
      ['elements', String(plan.elements)],
      ['requests', String(plan.requests)],
      ['total amount', plan.totalAmount],
      ...Object.entries(plan.types).map(
        ([type, { elements, amount }]) => [type, `${elements} elements, ${amount}`] as const,
      ),
    ],
    style.dim,
  ),
];
