/** What the chain knows and the store does not, as people read it. */
import type { GapReport } from '../context.js';
import { tokensText } from './unit.js';

/** Transactions that are shown one by one. */
const MAX_SHOWN = 20;

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** How much it is, in a few words. */
export const burnsText = ({ burns, transactions }: GapReport): string =>
  burns === transactions
    ? count(burns, 'burn')
    : `${count(transactions, 'transaction')} with ${count(burns, 'burn')}`;

export function viewGap(gap: GapReport): readonly string[] {
  const { symbol, burned, airdropped, lost, pendingBurns } = gap;
  const shown = lost
    .slice(0, MAX_SHOWN)
    .map(
      (one) =>
        `  ${one.date ?? 'at an unknown time'}  ${one.txHash}  burned ${one.burned}, airdropped ${one.airdropped}`,
    );
  const more = lost.length - shown.length;
  return [
    `The chain has ${burnsText(gap)} of ${gap.project ?? symbol} that the store does not know: ${tokensText(burned, symbol)} burned, ${airdropped} airdropped.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more; --output json lists all`] : []),
    ...(pendingBurns > 0
      ? [
          `${count(pendingBurns, 'burn')}, pending in the store, will be resumed. Make sure that none of them is listed above.`,
        ]
      : []),
  ];
}

export const viewNoGap = (): readonly string[] => [
  'Nothing is missing: the store knows every transaction of the chain.',
];
