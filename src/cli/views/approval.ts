/** The rows, the summary and the question that `approve`, `inspect` and the plan of a batch show. */
import type { Usage } from '../../actions/action.js';
import { digestText, type PipelineContent } from '../../actions/pipelines.js';
import { actionRecipients, type PipelineAction, usageOf } from '../../actions/registry.js';
import { type LookAlike, outflowOf, totalOutflow } from '../../approval/limits.js';
import type { BatchDescription } from '../../approval/read-batch.js';
import { costsOf } from '../../approval/verify-batch.js';
import { LAMPORTS_PER_SIGNATURE } from '../../chain/account.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { hiddenIn } from '../../values/text.js';
import { formatTokenAmount, grouped } from '../../values/token-amount.js';
import type { Earlier } from '../batch/approval-limits.js';
import type { Look } from '../batch/review.js';
import type { OpenedService } from '../context.js';
import type { PaidProof } from '../journal/approval-record.js';
import { namedText } from '../operation/elements.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, headed } from '../output/table.js';
import { contentLines, pipelineActionText } from './batch-content.js';
import { amountText, countText, solText, tokensText, type Unit } from './unit.js';

/** Amounts of at least this many times the median are marked. */
const UNUSUAL = 10n;
/** No median for fewer amounts; of two it is the smaller one. */
const LEAST_TO_COMPARE = 2;
const PER_MILLE = 1_000n;
/** Pipelines of one wallet that are named. */
const MAX_NAMED = 3;

/** The largest first. */
const actionsOf = (pipelines: readonly PipelineContent[]) =>
  pipelines
    .flatMap(({ actions }, at) =>
      actions.map((action) => ({ action, amount: 'amount' in action ? action.amount : 0n, at: at + 1 })),
    )
    .toSorted((a, b) => Number(b.amount > a.amount) - Number(b.amount < a.amount));

/** The actions of at least {@link UNUSUAL} times the median of their kind, the furthest above it first. */
function unusualActions(pipelines: readonly PipelineContent[]) {
  const all = actionsOf(pipelines);
  const medians = new Map<string, bigint>();
  for (const { action } of all) {
    if (medians.has(action.action)) continue;
    const amounts = all.flatMap((one) => (one.action.action === action.action ? one.amount : []));
    const middle = amounts.length < LEAST_TO_COMPARE ? 0n : amounts[Math.floor(amounts.length / 2)];
    medians.set(action.action, middle ?? 0n);
  }
  return all
    .flatMap((one) => {
      const median = medians.get(one.action.action) ?? 0n;
      const times = median === 0n ? 0n : one.amount / median;
      return times >= UNUSUAL ? [{ ...one, median, times }] : [];
    })
    .toSorted((a, b) => Number(b.times - a.times));
}

const numbersPaying = (pipelines: readonly PipelineContent[], wallet: Address): string => {
  const numbers = pipelines.flatMap(({ actions }, at) =>
    actions.some((action) => actionRecipients(action).includes(wallet)) ? [grouped(at + 1)] : [],
  );
  return `pipeline${numbers.length === 1 ? '' : 's'} ${namedText(numbers, MAX_NAMED)}`;
};

/** The address that a recipient resembles: by its pipelines, or else by what it is. */
const likeText = ({ like }: LookAlike, pipelines: readonly PipelineContent[]): string =>
  outflowOf(pipelines).recipients.has(like.address)
    ? `the wallet of ${numbersPaying(pipelines, like.address)}`
    : like.as;

export const lookAlikeText = (alike: LookAlike, pipelines: readonly PipelineContent[]): string =>
  `LOOK-ALIKE: the recipient ${alike.recipient} of ${numbersPaying(pipelines, alike.recipient)} resembles ${alike.like.address} (${likeText(alike, pipelines)}) but is a different address.`;

/** Pipelines in order, with marks behind actions to look at. New recipients are marked if they are the exception. */
export function viewRows(
  { description }: Pick<Look, 'description'>,
  earlier: Pick<Earlier, 'strangers' | 'alike'> | null,
  unit: Unit,
  style: Style,
): readonly string[] {
  const pipelines = description.pipelines ?? [];
  const unusual = new Map(unusualActions(pipelines).map(({ action, times }) => [action, times]));
  const strangers = earlier?.strangers ?? new Set();
  const areMarked = strangers.size * 2 <= outflowOf(pipelines).recipients.size;
  const alike = new Map(earlier?.alike.map((one) => [one.recipient, one]));
  const markOf = (action: PipelineAction): string => {
    const times = unusual.get(action);
    const marks = [
      ...(times === undefined ? [] : [`UNUSUAL: ${grouped(String(times))} times the median`]),
      ...actionRecipients(action).flatMap((wallet) => {
        const like = alike.get(wallet);
        return [
          ...(like === undefined ? [] : [`LOOK-ALIKE of ${likeText(like, pipelines)}`]),
          ...(areMarked && strangers.has(wallet) ? ['new recipient'] : []),
        ];
      }),
    ];
    return marks.length === 0 ? '' : ` [${marks.join('; ')}]`;
  };
  return contentLines(description, unit, style, [], markOf);
}

/** Describes the UNUSUAL actions; `null`: no unusual action. */
function unusualText(pipelines: readonly PipelineContent[], unit: Unit): string | null {
  const [most, ...others] = unusualActions(pipelines);
  if (most === undefined) return null;
  const times = `${grouped(String(most.times))} times the median of ${amountText(most.median, unit)}`;
  const more = others.length === 0 ? '' : `; ${countText(others.length, 'more action')}`;
  return `pipeline ${most.at}: ${pipelineActionText(most.action, unit)}, ${times}${more}`;
}

/** Describes the hidden characters of memos and proof types, each of which may change how a line reads; `null`: none. */
function hiddenText(pipelines: readonly PipelineContent[]): string | null {
  const found = pipelines.flatMap(({ type, actions }, at) => {
    const texts = [type, ...actions.flatMap((action) => (action.action === 'MEMO' ? action.message : []))];
    return texts.flatMap(hiddenIn).map((character) => ({ character, pipeline: at + 1 }));
  });
  const [first] = found;
  if (first === undefined) return null;
  const code = first.character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  const more = found.length === 1 ? '' : `; ${grouped(found.length - 1)} more`;
  return `the text of pipeline ${first.pipeline} has the invisible character U+${code}${more}`;
}

const contentFields = (pipelines: readonly PipelineContent[], unit: Unit) => [
  ['UNUSUAL', unusualText(pipelines, unit)] as const,
  ['HIDDEN', hiddenText(pipelines)] as const,
];

/** Warnings that need no earlier approvals. */
export const contentAlarms = (...content: Parameters<typeof contentFields>): readonly string[] =>
  contentFields(...content).flatMap(([label, text]) => (text === null ? [] : `${label}: ${text}.`));

/** `2 of 3 proofs have already landed`. */
function paidText(paid: readonly PaidProof[], count: number): string {
  const executed = paid.filter(({ isExecuted }) => isExecuted).length;
  const how =
    executed === paid.length ? 'landed' : executed === 0 ? 'been approved' : 'landed or been approved';
  return `${grouped(paid.length)} of ${countText(count, 'proof')} ${paid.length === 1 ? 'has' : 'have'} already ${how}`;
}

const firstPaid = ([first]: readonly PaidProof[]): string =>
  first === undefined
    ? ''
    : `pipeline ${first.at + 1} on ${first.date.slice(0, 10)} in batch ${first.batchId} (index ${first.batchIndex})${first.isSame ? '' : ' with another amount, recipient or action'}`;

/** @param count - number of pipelines */
export const twiceText = (paid: readonly PaidProof[], count: number): string =>
  `TWICE: ${paidText(paid, count)}, ${firstPaid(paid)}. This batch runs ${paid.length === 1 ? 'it' : 'them'} again.`;

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
  /** `null`: not set up yet. */
  readonly batch: Pick<BatchDescription, 'batchIndex' | 'multisig'> | null;
  /** `null`: unknown. */
  readonly mint: Address | null;
  /** What the token's transfer fee keeps from the recipients; `null`: not simulated. */
  readonly withheld: bigint | null;
  /** Lamports. */
  readonly costs: {
    /** Of token accounts of new recipients, paid by the vault; `null`: not simulated. */
    readonly vaultRent: bigint | null;
    /** An upper bound, unless a service adds priority fees. */
    readonly fees: bigint;
    readonly isBound: boolean;
    readonly rent: bigint;
    readonly isReturned: boolean;
  } | null;
  /** The approving account; `null`: unknown here. */
  readonly signer: string | null;
  /** `null`: unknown. */
  readonly earlier: Pick<Earlier, 'strangers' | 'paid' | 'alike'> | null;
}

/** The approvals of owner and operator: the first has two signatures. */
const APPROVAL_SIGNATURES = 3n;

export function summedUp(
  { description, changes }: Pick<Look, 'description' | 'changes'>,
  { mint, signer, earlier }: Pick<Summed, 'mint' | 'signer' | 'earlier'>,
  foresight: OpenedService['foresight'],
  { decimals }: Unit,
): Summed {
  const { vaultRent, executionFees, rentReturned: rent, rentCollector } = costsOf(description, changes);
  const { pipelines, digest, transactions, batch } = description;
  const left = transactions.length - batch.executedTransactionIndex;
  const tokens = (amount: bigint): string => formatTokenAmount(amount, decimals);
  const fees = foresight?.feesAfterSetUp(transactions.length, left);
  const leastFees = executionFees + APPROVAL_SIGNATURES * LAMPORTS_PER_SIGNATURE;
  return {
    ...{ pipelines: pipelines ?? [], digest, batch: description, mint, signer, earlier },
    costs: {
      ...{ vaultRent, fees: fees ?? leastFees, isBound: fees !== undefined },
      ...{ rent, isReturned: rentCollector !== null },
    },
    vault: changes && {
      before: tokens(changes.vaultTokens.before),
      after: tokens(changes.vaultTokens.after),
    },
    withheld: changes?.withheld ?? null,
  };
}

/** The largest first. */
const actionsUsing = (pipelines: readonly PipelineContent[], usage: Usage) =>
  actionsOf(pipelines).filter(({ action }) => usageOf(action) === usage);

function burnFields(pipelines: readonly PipelineContent[], unit: Unit): readonly Field[] {
  const burns = actionsUsing(pipelines, 'burn');
  const [largest] = burns;
  if (largest === undefined) return [];
  const { burned } = outflowOf(pipelines);
  const most = `; the largest ${amountText(largest.amount, unit)}, pipeline ${largest.at}`;
  const isUneven = largest.amount !== burns.at(-1)?.amount;
  return [['burns', `${amountText(burned, unit)}${isUneven ? most : ''}`]];
}

/** `60 wallets, all new`. */
function walletsText(count: number, countNew: number | null): string {
  const wallets = countText(count, 'wallet');
  if (countNew === null) return wallets;
  if (count === 1) return countNew === 0 ? '1 known wallet' : '1 new wallet';
  return `${wallets}, ${countNew === 0 ? 'none' : countNew === count ? 'all' : grouped(countNew)} new`;
}

/** The wallet of the largest airdrop is always named, here or as unusual. */
function airdropFields({ pipelines, earlier, withheld }: Summed, unit: Unit): readonly Field[] {
  const airdrops = actionsUsing(pipelines, 'airdrop');
  const [largest] = airdrops;
  if (largest === undefined) return [];
  const { airdropped, recipients } = outflowOf(pipelines);
  const countNew = earlier && (earlier.strangers?.size ?? recipients.size);
  const isNamed = unusualActions(pipelines)[0]?.action === largest.action;
  return [
    ['airdrops', `${amountText(airdropped, unit)} to ${walletsText(recipients.size, countNew)}`],
    [
      'recipients get',
      withheld
        ? `${amountText(airdropped - withheld, unit)}; the token's transfer fee withholds ${amountText(withheld, unit)}`
        : null,
    ],
    [
      '  largest',
      isNamed
        ? null
        : `pipeline ${largest.at}, ${amountText(largest.amount, unit)} to ${actionRecipients(largest.action).join(', ')}`,
    ],
  ];
}

/** They stand for the warnings of the batch, which are not repeated beside a summary. */
function alarmFields({ pipelines, earlier }: Summed, unit: Unit): readonly Field[] {
  const { paid = [], alike = [] } = earlier ?? {};
  // Two recipients of the batch resemble each other; one line names both.
  const pairs = alike.filter(({ like }, at) => alike.findIndex((one) => one.recipient === like.address) < at);
  const [first] = pairs;
  const more = pairs.length > 1 ? `, and ${pairs.length - 1} more` : '';
  return [
    ['TWICE', paid.length === 0 ? null : `${paidText(paid, pipelines.length)}, ${firstPaid(paid)}`],
    ['LOOK-ALIKE', first && `${lookAlikeText(first, pipelines).replace(/^LOOK-ALIKE: |\.$/g, '')}${more}`],
    ...contentFields(pipelines, unit),
  ];
}

/** Each sum says who pays it and whether it comes back. */
function costFields({ costs, batch }: Pick<Summed, 'costs' | 'batch'>): readonly Field[] {
  if (costs === null) return [];
  const { vaultRent, fees, isBound, rent, isReturned } = costs;
  // The set-up of a batch on chain is paid.
  const more = batch === null ? 'of fees' : 'more';
  const pays = isBound ? `at most ${solText(fees)} ${more}` : `${solText(fees)} and priority fees`;
  const back = isReturned ? `${solText(rent)} of rent comes back` : 'its rent does not come back';
  return [
    ['vault SOL', vaultRent ? `pays ${solText(vaultRent)} for new token accounts, not returned` : null],
    ['operator', `pays ${pays}; ${back}`],
  ];
}

/** Labels in capitals appear only for problems. */
export function summaryOf(summed: Summed, unit: Unit): readonly Field[] {
  const { pipelines, batch, mint, vault, signer } = summed;
  const tokens = (amount: string): string => tokensText(amount, unit.symbol);
  return [
    ['batch', batch && `${batch.batchIndex} of multisig ${batch.multisig}`],
    ['mint', mint],
    ...alarmFields(summed, unit),
    ...burnFields(pipelines, unit),
    ...airdropFields(summed, unit),
    ['vault', vault === null ? 'not simulated' : `${grouped(vault.before)} → ${tokens(vault.after)}`],
    ...costFields(summed),
    ['signs as', signer],
  ];
}

/** Of a label that appears only for a problem. */
export const ALARM = /^[A-Z-]+ *$/;

export function viewSummary(summed: Summed, unit: Unit, style: Style): readonly string[] {
  const digest = summed.digest === null ? 'none' : digestText(summed.digest);
  const dim = (label: string): string => (ALARM.test(label) ? style.bad(label) : style.dim(label));
  return [
    ...headed('digest', digest, { width: style.width, dim: (text) => text }, style.dim),
    ...fieldLines(summaryOf(summed, unit), { width: style.width, dim }),
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
  const [most] = unusualActions(pipelines);
  const unusual = most && `, ${amountText(most.amount, unit)} of it in pipeline ${most.at}`;
  const twice = paid.length === 0 ? '' : `, though ${paidText(paid, pipelines.length)}`;
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${share}${unusual ?? ''}${twice}?`;
}
