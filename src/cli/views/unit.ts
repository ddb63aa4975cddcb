/** Amounts, counts, statuses and links as text for people: digits in groups, with units. This text is never parsed. */
import type { BatchStatus } from '../../contract/schemas/batch.js';
import { formatTokenAmount, grouped, shownSymbol } from '../../values/token-amount.js';
import type { BurnsForesight } from '../context.js';
import type { Style } from '../output/color.js';
import type { Field } from '../output/table.js';

/** Terms of the glossary; JSON has the statuses of the specification. */
export const STATUS_WORDS: Readonly<Record<BatchStatus, string>> = {
  AVAILABLE_TO_QUEUE: 'being set up',
  FINALIZED: 'waits for approval',
  EXECUTED: 'executed',
  FAILED: 'failed',
};

export interface Unit {
  readonly decimals: number;
  /** `null`: the token has none. */
  readonly symbol: string | null;
}

const LAMPORTS_DIGITS = 9;

export const SOL: Unit = { decimals: LAMPORTS_DIGITS, symbol: 'SOL' };

/** Decimal text in whole tokens → `1,250.5 FLY`. @param symbol - as the token's metadata has it, unchecked */
export const tokensText = (decimal: string | number, symbol: string | null): string =>
  `${grouped(decimal)} ${shownSymbol(symbol) ?? (String(decimal) === '1' ? 'token' : 'tokens')}`;

/** From base units. */
export const amountText = (amount: bigint, { decimals, symbol }: Unit): string =>
  tokensText(formatTokenAmount(amount, decimals), symbol);

/** Lamports → SOL, `1,250.5`; may be negative. */
export function solOf(lamports: string | bigint): string {
  const amount = BigInt(lamports);
  const sign = amount < 0n ? '-' : '';
  return `${sign}${grouped(formatTokenAmount(amount < 0n ? -amount : amount, LAMPORTS_DIGITS))}`;
}

export const solText = (lamports: string | bigint): string => `${solOf(lamports)} SOL`;

/** `1 element`, `2,000 elements`. @param plural - if it is not the noun with an `s` */
export const countText = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;

const PLACE = /(\bpipelines|^)\[(\d+)\](?:\.actions\[(\d+)\])?(?:\.(?=\w))?/g;

/** Path in a file, counted from 1: `pipelines[0].actions[1].amount` → `pipeline 1, action 2, amount`. */
export const countedFromOne = (text: string): string =>
  text.replace(PLACE, (place, list: string, index: string, action?: string) =>
    [
      `${list === '' ? 'entry' : 'pipeline'} ${Number(index) + 1}`,
      ...(action === undefined ? [] : [`action ${Number(action) + 1}`]),
      ...(place.endsWith('.') ? [''] : []),
    ].join(', '),
  );

const AGES: readonly (readonly [number, string])[] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
];

/** In the largest unit: `3 hours ago`. */
export function agoText(ms: number): string {
  const [unitMs, noun] = AGES.find(([size]) => ms >= size) ?? [];
  return unitMs === undefined || noun === undefined
    ? 'just now'
    : `${countText(Math.floor(ms / unitMs), noun)} ago`;
}

const EXPLORER = 'https://explorer.solana.com';

export function linkOf({ explorer }: Style, page: 'tx' | 'address', id: string | undefined): string | null {
  if (explorer === null || id === undefined) return null;
  const cluster = explorer === 'mainnet-beta' ? '' : `?cluster=${explorer}`;
  return `${EXPLORER}/${page}/${encodeURIComponent(id)}${cluster}`;
}

export const linkField = (...args: Parameters<typeof linkOf>): Field => ['', linkOf(...args)];

type Change = BurnsForesight['supply'];

/** Use of a daily cap before and after; includes reservations of requests that may still land. */
export const usedField = (label: string, change: Change, symbol: string | null): Field => [
  label,
  `${changeField(label, change, symbol)[1]} used`,
];

export const changeField = (label: string, { before, after }: Change, symbol: string | null): Field => [
  label,
  before === after ? tokensText(before, symbol) : `${grouped(before)} → ${tokensText(after, symbol)}`,
];
