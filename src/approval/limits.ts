/**
 * What an owner lets be approved at most, whatever the content. The numbers stay decimal text in whole tokens and are compared
 * exactly, so that they hold for a mint of any decimals.
 */

import type { PipelineContent } from '../actions/pipelines.js';
import { actionRecipients, totalOf } from '../actions/registry.js';
import type { Address } from '../values/address.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { refuse } from './refuse.js';

/** What is not named is not limited. */
export interface Limits {
  /** Most tokens of one batch, burned and airdropped together. */
  readonly batchTokens?: string;
  /** Most tokens of all batches that are approved on one UTC day. */
  readonly dayTokens?: string;
  /** A batch of more tokens is agreed to with the first characters of its digest. */
  readonly digestAbove?: string;
}

export const LIMIT_NAMES = ['batchTokens', 'dayTokens', 'digestAbove'] as const satisfies (keyof Limits)[];

/** Whole tokens of a u64 have up to 20 digits; no mint has more decimals than a byte can say. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,255})?$/;

/** Is the text a number that a limit can be? */
export const isLimitNumber = (value: unknown): boolean => typeof value === 'string' && DECIMAL.test(value);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Why a value from a file is not a set of limits, or `undefined`; a limit that is not understood would not be kept to. */
export function limitsProblem(value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be an object';
  const unknown = Object.keys(value).find((name) => !(LIMIT_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) return `has the unknown limit ${JSON.stringify(unknown)}`;
  const wrong = LIMIT_NAMES.find((name) => value[name] !== undefined && !isLimitNumber(value[name]));
  return wrong && `has the limit ${wrong}, which must be a decimal number as text`;
}

/** A decimal number as a whole one and how often it was multiplied by ten. */
function scaled(text: string): { readonly digits: bigint; readonly scale: number } {
  const [whole = '', fraction = ''] = text.split('.');
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

/** Is `amount` base units more than `limit` whole tokens? */
function isAbove(amount: bigint, decimals: number, limit: string): boolean {
  const { digits, scale } = scaled(limit);
  return amount * 10n ** BigInt(scale) > digits * 10n ** BigInt(decimals);
}

/** What a limit is about. */
export interface Asked {
  readonly outflow: Outflow;
  readonly decimals: number;
}

/**
 * Holds a batch against all limits but that of the day.
 * @param whose - where the limits stand, for the message.
 * @throws `ERR_APPROVAL_REFUSED` naming the limit and what is asked.
 */
export function requireWithinLimits(
  { batchTokens }: Limits,
  { outflow, decimals }: Asked,
  whose: string,
): void {
  const total = totalOutflow(outflow);
  if (batchTokens === undefined || !isAbove(total, decimals, batchTokens)) return;
  const asked = formatTokenAmount(total, decimals);
  refuse(`The batch has ${asked} tokens, over the limit of ${batchTokens} per batch in ${whose}`);
}

/**
 * Holds a batch against the limit of a day.
 * @param used - base units of the other batches that were approved on that day, or are about to be.
 * @throws `ERR_APPROVAL_REFUSED` naming the limit, what is asked and what is used.
 */
export function requireWithinDay(
  { dayTokens }: Limits,
  { outflow, decimals }: Asked,
  { day, used }: { readonly day: string; readonly used: bigint },
  whose: string,
): void {
  const total = totalOutflow(outflow);
  if (dayTokens === undefined || !isAbove(total + used, decimals, dayTokens)) return;
  refuse(
    `The batch has ${formatTokenAmount(total, decimals)} tokens, over the limit of ${dayTokens} per day in ${whose}: ${formatTokenAmount(used, decimals)} of ${day} (UTC) are used`,
  );
}

/** Has a batch to be agreed to with its digest? */
export const needsDigest = ({ digestAbove }: Limits, { outflow, decimals }: Asked): boolean =>
  digestAbove !== undefined && isAbove(totalOutflow(outflow), decimals, digestAbove);

/** Base units. */
export interface Outflow {
  readonly burned: bigint;
  readonly airdropped: bigint;
  /** What each recipient gets, in the order in which they come first. */
  readonly recipients: ReadonlyMap<Address, bigint>;
}

export function outflowOf(pipelines: readonly PipelineContent[]): Outflow {
  const actions = pipelines.flatMap((pipeline) => pipeline.actions);
  const recipients = new Map<Address, bigint>();
  for (const action of actions) {
    const amount = 'amount' in action ? action.amount : 0n;
    for (const recipient of actionRecipients(action))
      recipients.set(recipient, (recipients.get(recipient) ?? 0n) + amount);
  }
  return { burned: totalOf('burn', actions), airdropped: totalOf('airdrop', actions), recipients };
}

/** All that leaves the vault, in base units. */
export const totalOutflow = ({ burned, airdropped }: Pick<Outflow, 'burned' | 'airdropped'>): bigint =>
  burned + airdropped;

/** Characters at each end that people compare. */
const END_LENGTH = 4;

/** The two ends of an address as people see them; letters of either case are taken for each other. */
export const endsOf = (address: Address): string =>
  `${address.slice(0, END_LENGTH)}${address.slice(-END_LENGTH)}`.toLowerCase();

/** An address that is known, and from where. */
export interface KnownAddress {
  readonly address: Address;
  /** Completes "…, which is". */
  readonly as: string;
}

export interface LookAlike {
  readonly recipient: Address;
  readonly like: KnownAddress;
}

/** Each recipient that looks like a known address, with the first such. */
export function lookAlikes(
  recipients: Iterable<Address>,
  known: Iterable<KnownAddress>,
): readonly LookAlike[] {
  const byEnds = new Map<string, KnownAddress[]>();
  for (const one of known) {
    const ends = endsOf(one.address);
    const alike = byEnds.get(ends);
    if (alike === undefined) byEnds.set(ends, [one]);
    else alike.push(one);
  }
  return [...recipients].flatMap((recipient) => {
    const like = byEnds.get(endsOf(recipient))?.find(({ address }) => address !== recipient);
    return like === undefined ? [] : [{ recipient, like }];
  });
}
