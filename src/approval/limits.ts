/** The owner's limits for approvals: decimal text in whole tokens, compared exactly for any decimals of the mint. */

import type { PipelineContent } from '../actions/pipelines.js';
import { actionRecipients, totalOf } from '../actions/registry.js';
import type { Address } from '../values/address.js';
import { isJsonObject } from '../values/canonical-json.js';
import { formatTokenAmount } from '../values/token-amount.js';
import { refuse } from './pins.js';

/** A missing limit is no limit. */
export interface Limits {
  /** Burned and airdropped tokens of one batch. */
  readonly batchTokens?: string;
  /** Tokens of all batches that are approved on one UTC day. */
  readonly dayTokens?: string;
  /** Above this the owner types the first characters of the digest. */
  readonly digestAbove?: string;
}

export const LIMIT_NAMES = ['batchTokens', 'dayTokens', 'digestAbove'] as const satisfies (keyof Limits)[];

/** Whole tokens of a u64 have up to 20 digits; decimals of a mint are a byte. */
const DECIMAL = /^(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,255})?$/;

const isLimitNumber = (value: unknown): boolean => typeof value === 'string' && DECIMAL.test(value);

/** Why a value is not a set of limits, or `undefined`. An unknown limit is an error, because it would not be enforced. */
export function limitsProblem(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'must be an object';
  const unknown = Object.keys(value).find((name) => !(LIMIT_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) return `has the unknown limit ${JSON.stringify(unknown)}`;
  const wrong = LIMIT_NAMES.find((name) => value[name] !== undefined && !isLimitNumber(value[name]));
  return wrong && `has the limit ${wrong}, which must be a decimal number as text`;
}

/** @param amount - base units. @param limit - whole tokens */
function isAbove(amount: bigint, decimals: number, limit: string): boolean {
  const [whole = '', fraction = ''] = limit.split('.');
  return amount * 10n ** BigInt(fraction.length) > BigInt(whole + fraction) * 10n ** BigInt(decimals);
}

export interface Asked {
  readonly outflow: Outflow;
  readonly decimals: number;
}

/** All limits but the daily one. @throws `ERR_APPROVAL_REFUSED` with the limit and the requested amount. */
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
 * Checks the daily limit.
 * @param used - base units of other batches that were approved on that day.
 * @throws `ERR_APPROVAL_REFUSED` with the limit, the requested and the used amount.
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
    `The batch has ${formatTokenAmount(total, decimals)} tokens, over the limit of ${dayTokens} per day in ${whose}: batches with ${formatTokenAmount(used, decimals)} tokens were approved on ${day} (UTC)`,
  );
}

export const needsDigest = ({ digestAbove }: Limits, { outflow, decimals }: Asked): boolean =>
  digestAbove !== undefined && isAbove(totalOutflow(outflow), decimals, digestAbove);

/** Base units. */
interface Outflow {
  readonly burned: bigint;
  readonly airdropped: bigint;
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

export const totalOutflow = ({ burned, airdropped }: Pick<Outflow, 'burned' | 'airdropped'>): bigint =>
  burned + airdropped;

const END_LENGTH = 4;

/** Both ends of an address in lower case, because people confuse letters of either case. */
export const endsOf = (address: Address): string =>
  `${address.slice(0, END_LENGTH)}${address.slice(-END_LENGTH)}`.toLowerCase();

export interface KnownAddress {
  readonly address: Address;
  /** Completes "resembles ADDRESS (…)". */
  readonly as: string;
}

export interface LookAlike {
  readonly recipient: Address;
  readonly like: KnownAddress;
}

export function lookAlikes(
  recipients: Iterable<Address>,
  known: Iterable<KnownAddress>,
): readonly LookAlike[] {
  const byEnds = new Map<string, KnownAddress[]>();
  for (const one of known) {
    const ends = endsOf(one.address);
    byEnds.set(ends, [...(byEnds.get(ends) ?? []), one]);
  }
  return [...recipients].flatMap((recipient) => {
    const like = byEnds.get(endsOf(recipient))?.find(({ address }) => address !== recipient);
    return like === undefined ? [] : [{ recipient, like }];
  });
}
