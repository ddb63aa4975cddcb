/** The last screen before an approval: the pipelines of the batch, a summary of eight lines, and the question. */
import type { Usage } from '../../actions/action.js';
import { digestText } from '../../actions/pipelines.js';
import { actionRecipients, type PipelineAction, usageOf } from '../../actions/registry.js';
import { outflowOf, totalOutflow } from '../../approval/limits.js';
import { costsOf } from '../../approval/verify-batch.js';
import { invariant } from '../../errors/flywheel-error.js';
import type { Address } from '../../values/address.js';
import type { Review } from '../batch/review.js';
import type { Style } from '../output/color.js';
import { fieldLines } from '../output/table.js';
import { contentLines } from './batch-content.js';
import { amountText, countText, grouped, SOL, type Unit } from './unit.js';

/** Amounts of at least this many times the median are marked. */
const UNUSUAL = 10n;
/** Fewer amounts have no median. */
const LEAST_TO_COMPARE = 3;
const PER_MILLE = 1_000n;

const pipelinesOf = ({ description: { pipelines } }: Review) => {
  invariant(pipelines !== null, 'What has been checked is a batch of pipelines.');
  return pipelines;
};

const amountOf = (action: PipelineAction): bigint => ('amount' in action ? action.amount : 0n);

/** Median amount per kind of action; 0 for kinds with too few amounts. */
function usualAmounts(actions: readonly PipelineAction[]): ReadonlyMap<string, bigint> {
  const kinds = [...new Set(actions.map(({ action }) => action))];
  return new Map(
    kinds.map((kind) => {
      const amounts = actions.filter(({ action }) => action === kind).map(amountOf);
      const ordered = amounts.toSorted((a, b) => (a < b ? -1 : 1));
      const middle = ordered[Math.floor((ordered.length - 1) / 2)] ?? 0n;
      return [kind, ordered.length < LEAST_TO_COMPARE ? 0n : middle];
    }),
  );
}

/** Pipelines in order, with marks behind unusual actions. @param strangers - new recipients */
export function viewRows(
  review: Review,
  strangers: ReadonlySet<Address>,
  unit: Unit,
  style: Style,
): readonly string[] {
  const usual = usualAmounts(pipelinesOf(review).flatMap(({ actions }) => actions));
  const markOf = (action: PipelineAction): string => {
    const middle = usual.get(action.action) ?? 0n;
    const times = middle === 0n ? 0n : amountOf(action) / middle;
    const marks = [
      ...(times >= UNUSUAL ? [`UNUSUAL: ${grouped(String(times))} times the median`] : []),
      ...(actionRecipients(action).some((wallet) => strangers.has(wallet)) ? ['new recipient'] : []),
    ];
    return marks.length === 0 ? '' : ` [${marks.join('; ')}]`;
  };
  return contentLines(review.description, unit, style, [], markOf);
}

/** `12.3 %`, `under 0.1 %`. */
function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) return 'all';
  const perMille = (part * PER_MILLE) / whole;
  if (perMille === 0n) return part === 0n ? '0 %' : 'under 0.1 %';
  return `${Number(perMille) / 10} %`;
}

/** @param strangers - new recipients; `null`: no recipient is known, so all are new */
export function summaryOf(
  review: Review,
  { owner, strangers }: { readonly owner: Address; readonly strangers: ReadonlySet<Address> | null },
  unit: Unit,
): readonly (readonly [label: string, value: string])[] {
  const { description, changes } = review;
  const pipelines = pipelinesOf(review);
  const { burned, airdropped, recipients } = outflowOf(pipelines);
  const { executionFees } = costsOf(description, changes);
  const actions = pipelines.flatMap((pipeline, at) => pipeline.actions.map((action) => ({ action, at })));
  const count = (usage: Usage): string =>
    grouped(actions.filter(({ action }) => usageOf(action) === usage).length);
  const news =
    strangers === null
      ? 'all of them new'
      : `${strangers.size === 0 ? 'none' : grouped(strangers.size)} of them new`;
  const largest = actions.reduce(
    (most, one) => (amountOf(one.action) > amountOf(most.action) ? one : most),
    actions[0] as (typeof actions)[number],
  );
  const change = (before: bigint, after: bigint, of: Unit): string =>
    `${amountText(before, of)} → ${amountText(after, of)}`;
  const tried = (text: (of: NonNullable<typeof changes>) => string): string =>
    changes === null ? 'not simulated' : text(changes);
  return [
    ['burns', `${count('burn')}, ${amountText(burned, unit)}`],
    [
      'airdrops',
      recipients.size === 0
        ? 'none'
        : `${count('airdrop')}, ${amountText(airdropped, unit)} to ${countText(recipients.size, 'wallet')}, ${news}`,
    ],
    [
      'largest',
      `${largest.action.action.toLowerCase()} ${amountText(amountOf(largest.action), unit)}, pipeline ${largest.at + 1}`,
    ],
    ['vault', tried(({ vaultTokens }) => change(vaultTokens.before, vaultTokens.after, unit))],
    ['vault SOL', tried(({ vaultLamports }) => change(vaultLamports.before, vaultLamports.after, SOL))],
    ['fees', `at least ${amountText(executionFees, SOL)}, paid by the operator`],
    ['signs as', owner],
  ];
}

export const viewSummary = (
  review: Review,
  known: Parameters<typeof summaryOf>[1],
  unit: Unit,
  style: Style,
): readonly string[] => [
  `${style.dim('digest')} ${review.description.digest === null ? 'none' : digestText(review.description.digest)}`,
  ...fieldLines(summaryOf(review, known, unit), style),
];

/** `Burn 300 FLY and airdrop 2.5 FLY to 60 wallets (25 % of the vault)?` */
export function viewQuestion(review: Review, unit: Unit): string {
  const outflow = outflowOf(pipelinesOf(review));
  const { burned, airdropped, recipients } = outflow;
  const parts = [
    ...(burned === 0n ? [] : [`burn ${amountText(burned, unit)}`]),
    ...(airdropped === 0n
      ? []
      : [`airdrop ${amountText(airdropped, unit)} to ${countText(recipients.size, 'wallet')}`]),
  ];
  const text = parts.length === 0 ? 'write memos' : parts.join(' and ');
  const { changes } = review;
  const share =
    changes === null || parts.length === 0
      ? ''
      : ` (${percentOf(totalOutflow(outflow), changes.vaultTokens.before)} of the vault)`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${share}?`;
}
