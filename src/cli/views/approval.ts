/** The rows, the summary and the question that `approve`, `inspect` and the plan of a batch show. */
import type { Usage } from '../../actions/action.js';
import { digestText, type PipelineContent } from '../../actions/pipelines.js';
import { actionRecipients, type PipelineAction, usageOf } from '../../actions/registry.js';
import { outflowOf, totalOutflow } from '../../approval/limits.js';
import { costsOf } from '../../approval/verify-batch.js';
import type { Sha256 } from '../../values/digest.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Earlier } from '../batch/approval-limits.js';
import type { PaidProof } from '../batch/approval-record.js';
import type { Look } from '../batch/review.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, headed } from '../output/table.js';
import { contentLines } from './batch-content.js';
import { amountText, countText, grouped, SOL, solText, tokensText, type Unit } from './unit.js';

/** Amounts of at least this many times the median are marked. */
const UNUSUAL = 10n;
/** No median for fewer amounts. */
const LEAST_TO_COMPARE = 3;
const PER_MILLE = 1_000n;

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

/** The multiple of the usual amount, if unusual; else `null`. */
function unusualIn(pipelines: readonly PipelineContent[]): (action: PipelineAction) => bigint | null {
  const usual = usualAmounts(pipelines.flatMap(({ actions }) => actions));
  return (action) => {
    const middle = usual.get(action.action) ?? 0n;
    const times = middle === 0n ? 0n : amountOf(action) / middle;
    return times >= UNUSUAL ? times : null;
  };
}

/** Pipelines in order, with marks behind unusual actions. @param strangers - new recipients */
export function viewRows(
  { description }: Pick<Look, 'description'>,
  strangers: Earlier['strangers'],
  unit: Unit,
  style: Style,
): readonly string[] {
  const unusual = unusualIn(description.pipelines ?? []);
  const markOf = (action: PipelineAction): string => {
    const times = unusual(action);
    const isNew = actionRecipients(action).some((wallet) => strangers?.has(wallet));
    const marks = [
      ...(times === null ? [] : [`UNUSUAL: ${grouped(String(times))} times the median`]),
      ...(isNew ? ['new recipient'] : []),
    ];
    return marks.length === 0 ? '' : ` [${marks.join('; ')}]`;
  };
  return contentLines(description, unit, style, [], markOf);
}

/** Describes the UNUSUAL actions; `null`: no unusual action. */
export function unusualText(pipelines: readonly PipelineContent[]): string | null {
  const unusual = unusualIn(pipelines);
  const found = pipelines.flatMap(({ actions }, at) =>
    actions.flatMap((action) => {
      const times = unusual(action);
      return times === null ? [] : [{ at, times, name: action.action.toLowerCase() }];
    }),
  );
  const [most] = found.toSorted((a, b) => Number(b.times - a.times));
  if (most === undefined) return null;
  const which = `pipeline ${most.at + 1}, ${most.name} of ${grouped(String(most.times))} times the median`;
  return found.length === 1 ? which : `${countText(found.length, 'action')}, the most in ${which}`;
}

/** `2 of 3 proofs were already paid`. */
function paidText(paid: readonly PaidProof[], count: number): string {
  const executed = paid.filter(({ isExecuted }) => isExecuted).length;
  const how =
    executed === paid.length
      ? 'already paid'
      : executed === 0
        ? 'already approved'
        : 'already paid or approved';
  return `${grouped(paid.length)} of ${countText(count, 'proof')} ${paid.length === 1 ? 'was' : 'were'} ${how}`;
}

const firstPaid = ([first]: readonly PaidProof[]): string =>
  first === undefined
    ? ''
    : `pipeline ${first.at + 1} on ${first.date.slice(0, 10)} in batch ${first.batchId} (number ${first.batchIndex})`;

/** @param count - number of pipelines */
export const twiceText = (paid: readonly PaidProof[], count: number): string =>
  `TWICE: ${paidText(paid, count)}, ${firstPaid(paid)}. This batch pays them again.`;

/** `12.3 %`, `under 0.1 %`. */
function percentOf(part: bigint, whole: bigint): string {
  if (whole === 0n) return 'all';
  const perMille = (part * PER_MILLE) / whole;
  if (perMille === 0n) return part === 0n ? '0 %' : 'under 0.1 %';
  return `${Number(perMille) / 10} %`;
}

/** A batch on chain, or the plan of one. */
export interface Summed {
  readonly pipelines: readonly PipelineContent[];
  readonly digest: Sha256 | null;
  /** Whole tokens of the vault before and after; `null`: not simulated. */
  readonly vault: { readonly before: string; readonly after: string } | null;
  /** SOL that the vault pays for accounts of new recipients; `null`: not simulated. */
  readonly vaultSol: string | null;
  readonly fees: string | null;
  /** The approving account; `null`: unknown here. */
  readonly signer: string | null;
  /** `null`: unknown. */
  readonly earlier: Pick<Earlier, 'strangers' | 'paid'> | null;
}

export function summedUp(
  { description, changes }: Pick<Look, 'description' | 'changes'>,
  signer: string | null,
  earlier: Summed['earlier'],
  { decimals }: Unit,
): Summed {
  const { executionFees } = costsOf(description, changes);
  const tokens = (amount: bigint): string => formatTokenAmount(amount, decimals);
  return {
    ...{ pipelines: description.pipelines ?? [], digest: description.digest, signer, earlier },
    vault: changes && {
      before: tokens(changes.vaultTokens.before),
      after: tokens(changes.vaultTokens.after),
    },
    vaultSol:
      changes &&
      `${amountText(changes.vaultLamports.before, SOL)} → ${amountText(changes.vaultLamports.after, SOL)}`,
    fees: `at least ${solText(executionFees)}, paid by the operator`,
  };
}

/** Labels in capitals appear only for problems. */
export function summaryOf(
  { pipelines, vault, vaultSol, fees, signer, earlier }: Summed,
  unit: Unit,
): readonly Field[] {
  const paid = earlier?.paid ?? [];
  const { burned, airdropped, recipients } = outflowOf(pipelines);
  const actions = pipelines.flatMap((pipeline, at) => pipeline.actions.map((action) => ({ action, at })));
  const count = (usage: Usage): string =>
    grouped(actions.filter(({ action }) => usageOf(action) === usage).length);
  const countNew = earlier?.strangers?.size ?? 'all';
  const news =
    earlier === null
      ? ''
      : `, ${countNew === 0 ? 'none' : countNew === recipients.size ? 'all' : countNew} of them new`;
  const largest = actions.reduce<(typeof actions)[number] | undefined>(
    (most, one) => (most === undefined || amountOf(one.action) > amountOf(most.action) ? one : most),
    undefined,
  );
  return [
    ['TWICE', paid.length === 0 ? null : `${paidText(paid, pipelines.length)}, ${firstPaid(paid)}`],
    ['burns', burned === 0n ? 'none' : `${count('burn')}, ${amountText(burned, unit)}`],
    [
      'airdrops',
      recipients.size === 0
        ? 'none'
        : `${count('airdrop')}, ${amountText(airdropped, unit)} to ${countText(recipients.size, 'wallet')}${news}`,
    ],
    [
      'largest',
      largest &&
        `${largest.action.action.toLowerCase()} ${amountText(amountOf(largest.action), unit)}, pipeline ${largest.at + 1}`,
    ],
    ['UNUSUAL', unusualText(pipelines)],
    [
      'vault',
      vault === null
        ? 'not simulated'
        : `${tokensText(vault.before, unit.symbol)} → ${tokensText(vault.after, unit.symbol)}`,
    ],
    ['vault SOL', vaultSol ?? 'not simulated'],
    ['fees', fees],
    ['signs as', signer],
  ];
}

export function viewSummary(summed: Summed, unit: Unit, style: Style): readonly string[] {
  const digest = summed.digest === null ? 'none' : digestText(summed.digest);
  return [
    ...headed('digest', digest, { width: style.width, dim: (text) => text }, style.dim),
    ...fieldLines(summaryOf(summed, unit), style),
  ];
}

/** `Burn 300 FLY and airdrop 2.5 FLY to 60 wallets (25 % of the vault)?` */
export function viewQuestion(
  { description, changes }: Pick<Look, 'description' | 'changes'>,
  { paid }: Pick<Earlier, 'paid'>,
  unit: Unit,
): string {
  const pipelines = description.pipelines ?? [];
  const outflow = outflowOf(pipelines);
  const { burned, airdropped, recipients } = outflow;
  const parts = [
    ...(burned === 0n ? [] : [`burn ${amountText(burned, unit)}`]),
    ...(airdropped === 0n
      ? []
      : [`airdrop ${amountText(airdropped, unit)} to ${countText(recipients.size, 'wallet')}`]),
  ];
  const text = parts.length === 0 ? 'write memos' : parts.join(' and ');
  const share =
    changes === null || parts.length === 0
      ? ''
      : ` (${percentOf(totalOutflow(outflow), changes.vaultTokens.before)} of the vault)`;
  const twice = paid.length === 0 ? '' : `, though ${paidText(paid, pipelines.length)}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${share}${twice}?`;
}
