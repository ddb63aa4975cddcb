/** Amounts, counts, statuses and links as people read them: digits in groups, what is counted behind. Only for people: nothing of it can be read back. */
import { type ExplorerPage, explorerLink } from '../../chain/node-address.js';
import { shownSymbol } from '../../chain/tokens/accounts.js';
import type { BatchStatus } from '../../contract/schemas/batch.js';
import { formatTokenAmount } from '../../values/token-amount.js';
import type { Style } from '../output/color.js';
import type { Field } from '../output/table.js';

/** The words of the glossary; JSON keeps the states of the specification. */
export const STATUS_WORDS: Readonly<Record<BatchStatus, string>> = {
  AVAILABLE_TO_QUEUE: 'being set up',
  FINALIZED: 'waits for approval',
  EXECUTED: 'executed',
  FAILED: 'failed',
};

/** What an amount is counted in. */
export interface Unit {
  readonly decimals: number;
  /** One that may stand behind an amount; `null`: the token has none. */
  readonly symbol: string | null;
}

const LAMPORTS_DIGITS = 9;

/** Lamports. */
export const SOL: Unit = { decimals: LAMPORTS_DIGITS, symbol: 'SOL' };

/** Where there is no symbol, or one that could be taken for a part of the amount. */
const NEUTRAL = 'tokens';
const NEUTRAL_ONE = 'token';

/** `1250000.5` as `1,250,000.5`; it may be below 0. */
export function grouped(decimal: string | number): string {
  const [whole = '', fraction] = String(decimal).split('.');
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

/** Decimal text in whole tokens with its unit: `1,250.5 FLY`. @param symbol - as the token calls itself */
export const tokensText = (decimal: string | number, symbol: string | null): string =>
  `${grouped(decimal)} ${shownSymbol(symbol) ?? (String(decimal) === '1' ? NEUTRAL_ONE : NEUTRAL)}`;

/** Base units with their unit. */
export const amountText = (amount: bigint, { decimals, symbol }: Unit): string =>
  tokensText(formatTokenAmount(amount, decimals), symbol);

/** Lamports as SOL, which may be below 0: `1,250.5`. */
export function solOf(lamports: string | bigint): string {
  const amount = BigInt(lamports);
  const sign = amount < 0n ? '-' : '';
  return `${sign}${grouped(formatTokenAmount(amount < 0n ? -amount : amount, LAMPORTS_DIGITS))}`;
}

/** Lamports with their unit. */
export const solText = (lamports: string | bigint): string => `${solOf(lamports)} SOL`;

/** `1 element`, `2,000 elements`. @param plural - where it is not made by an `s` */
export const countText = (count: number, noun: string, plural = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : plural}`;

const PLACE = /(\bpipelines|^)\[(\d+)\](?:\.actions\[(\d+)\])?(?:\.(?=\w))?/g;

/** A place in a file as people count: `pipelines[0].actions[1].amount` is `pipeline 1, action 2, amount`. */
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

/** How long ago something was, in its largest unit: `3 hours ago`. */
export function agoText(ms: number): string {
  const [unitMs, noun] = AGES.find(([size]) => ms >= size) ?? [];
  return unitMs === undefined || noun === undefined
    ? 'just now'
    : `${countText(Math.floor(ms / unitMs), noun)} ago`;
}

/** Where an explorer shows a transaction or an address. */
export const linkOf = ({ explorer }: Style, page: ExplorerPage, id: string | undefined): string | null =>
  explorer === null || id === undefined ? null : explorerLink(explorer, page, id);

/** The same as a line below it. */
export const linkField = (...args: Parameters<typeof linkOf>): Field => ['', linkOf(...args)];
