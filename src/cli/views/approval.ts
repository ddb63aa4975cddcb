/** The rows, the summary and the question that `approve`, `inspect` and the plan of a batch show. */
import type { Usage } from '../../actions/action.js';
import { digestText, type PipelineContent } from '../../actions/pipelines.js';
import { actionRecipients, type PipelineAction, usageOf } from '../../actions/registry.js';
import { type LookAlike, outflowOf, totalOutflow } from '../../approval/limits.js';
import { costsOf } from '../../approval/verify-batch.js';
import type { Address } from '../../values/address.js';
import type { Sha256 } from '../../values/digest.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Earlier } from '../batch/approval-limits.js';
import type { PaidProof } from '../batch/approval-record.js';
import type { Look } from '../batch/review.js';
import { namedText } from '../operation/elements.js';
import type { Style } from '../output/color.js';
import { type Field, fieldLines, headed } from '../output/table.js';
import { contentLines } from './batch-content.js';
import { amountText, countText, grouped, SOL, solText, tokensText, type Unit } from './unit.js';

/** Amounts of at least this many times the median are marked. */
const UNUSUAL = 10n;
/** No median for fewer amounts. */
const LEAST_TO_COMPARE = 3;
const PER_MILLE = 1_000n;
/** Pipelines of one wallet that are named. */
const MAX_NAMED = 3;

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
  const unusual = unusualIn(pipelines);
  const strangers = earlier?.strangers ?? new Set();
  const areMarked = strangers.size * 2 <= outflowOf(pipelines).recipients.size;
  const alike = new Map(earlier?.alike.map((one) => [one.recipient, one]));
  const markOf = (action: PipelineAction): string => {
    const times = unusual(action);
    const marks = [
      ...(times === null ? [] : [`UNUSUAL: ${grouped(String(times))} times the median`]),
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
  const which = `the ${most.name} of pipeline ${most.at + 1} is ${grouped(String(most.times))} times the median`;
  return found.length === 1 ? which : `${countText(found.length, 'action')}; ${which}`;
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
  /** What the token's transfer fee keeps from the recipients; `null`: not simulated. */
  readonly withheld: bigint | null;
  /** Lamports that the operator pays. */
  readonly operator: {
    readonly fees: bigint;
    /** What `fees` are: a least or a greatest sum. */
    readonly bound: 'at least' | 'at most';
    /** Comes back when the batch is closed; `null`: the multisig has no rent collector, so it does not. */
    readonly rent: bigint | null;
  } | null;
  /** The approving account; `null`: unknown here. */
  readonly signer: string | null;
  /** `null`: unknown. */
  readonly earlier: Pick<Earlier, 'strangers' | 'paid' | 'alike'> | null;
}

export function summedUp(
  { description, changes }: Pick<Look, 'description' | 'changes'>,
  signer: string | null,
  earlier: Summed['earlier'],
  { decimals }: Unit,
): Summed {
  const { executionFees: fees, rentReturned, rentCollector } = costsOf(description, changes);
  const tokens = (amount: bigint): string => formatTokenAmount(amount, decimals);
  return {
    ...{ pipelines: description.pipelines ?? [], digest: description.digest, signer, earlier },
    operator: { fees, bound: 'at least', rent: rentCollector === null ? null : rentReturned },
    vault: changes && {
      before: tokens(changes.vaultTokens.before),
      after: tokens(changes.vaultTokens.after),
    },
    withheld: changes?.withheld ?? null,
    vaultSol:
      changes &&
      `${amountText(changes.vaultLamports.before, SOL)} → ${amountText(changes.vaultLamports.after, SOL)}`,
  };
}

/** The actions of a kind, the largest first. */
const largestFirst = (pipelines: readonly PipelineContent[], usage: Usage) =>
  pipelines
    .flatMap(({ actions }, at) => actions.map((action) => ({ action, amount: amountOf(action), at: at + 1 })))
    .filter(({ action }) => usageOf(action) === usage)
    .toSorted((a, b) => Number(b.amount > a.amount) - Number(b.amount < a.amount));

function burnFields(pipelines: readonly PipelineContent[], unit: Unit): readonly Field[] {
  const burns = largestFirst(pipelines, 'burn');
  const [largest] = burns;
  if (largest === undefined) return [['burns', 'none']];
  const { burned } = outflowOf(pipelines);
  const most = `; the largest ${amountText(largest.amount, unit)}, pipeline ${largest.at}`;
  const isUneven = largest.amount !== burns.at(-1)?.amount;
  return [['burns', `${grouped(burns.length)}, ${amountText(burned, unit)}${isUneven ? most : ''}`]];
}

/** The wallet of the largest airdrop is always named. */
function airdropFields({ pipelines, earlier, withheld }: Summed, unit: Unit): readonly Field[] {
  const airdrops = largestFirst(pipelines, 'airdrop');
  const [largest] = airdrops;
  if (largest === undefined) return [['airdrops', 'none']];
  const { airdropped, recipients } = outflowOf(pipelines);
  const countNew = earlier?.strangers?.size ?? recipients.size;
  const news = countNew === 0 ? 'none' : countNew === recipients.size ? 'all' : grouped(countNew);
  const to = `${amountText(airdropped, unit)} to ${countText(recipients.size, 'wallet')}`;
  return [
    ['airdrops', `${grouped(airdrops.length)}, ${to}${earlier === null ? '' : `, ${news} of them new`}`],
    [
      'recipients get',
      withheld
        ? `${amountText(airdropped - withheld, unit)}; the token's transfer fee withholds ${amountText(withheld, unit)}`
        : null,
    ],
    [
      'largest',
      `pipeline ${largest.at}, ${amountText(largest.amount, unit)} to ${actionRecipients(largest.action).join(', ')}`,
    ],
  ];
}

function alarmFields({ pipelines, earlier }: Summed): readonly Field[] {
  const { paid = [], alike = [] } = earlier ?? {};
  // Two recipients of the batch resemble each other; one line names both.
  const pairs = alike.filter(({ like }, at) => alike.findIndex((one) => one.recipient === like.address) < at);
  const [first] = pairs;
  const more = pairs.length > 1 ? `, and ${pairs.length - 1} more` : '';
  return [
    ['TWICE', paid.length === 0 ? null : `${paidText(paid, pipelines.length)}, ${firstPaid(paid)}`],
    [
      'LOOK-ALIKE',
      first &&
        `the wallet of ${numbersPaying(pipelines, first.recipient)} resembles ${likeText(first, pipelines)}${more}`,
    ],
    ['UNUSUAL', unusualText(pipelines)],
  ];
}

/** Each sum of rent or fees says whether it comes back. */
const operatorText = ({ fees, bound, rent }: NonNullable<Summed['operator']>): string =>
  `pays ${bound} ${solText(fees)} of fees; ${rent === null ? 'its rent does not come back' : `${solText(rent)} of rent comes back`}`;

/** Labels in capitals appear only for problems. */
export function summaryOf(summed: Summed, unit: Unit): readonly Field[] {
  const { pipelines, vault, vaultSol, operator, signer } = summed;
  const tokens = (amount: string): string => tokensText(amount, unit.symbol);
  return [
    ...alarmFields(summed),
    ...burnFields(pipelines, unit),
    ...airdropFields(summed, unit),
    ['vault', vault === null ? 'not simulated' : `${tokens(vault.before)} → ${tokens(vault.after)}`],
    ['vault SOL', vaultSol ?? 'not simulated'],
    ['operator', operator && operatorText(operator)],
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
