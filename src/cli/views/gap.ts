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
    : `${count(transactions, 'transaction')}, ${count(burns, 'burn')} among them`;

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
    `The chain knows ${burnsText(gap)} of ${gap.project ?? symbol} of which the store has no record: ${tokensText(burned, symbol)} burned, ${airdropped} airdropped.`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more, which --output json lists`] : []),
    ...(pendingBurns > 0
      ? [
          `${count(pendingBurns, 'burn')} that the store has as pending will be carried on: see that none of them is among these.`,
        ]
      : []),
  ];
}

export const viewNoGap = (): readonly string[] => ['The store knows all that the chain does.'];
