/** Units on their way to their end. */
import type { Rejection, TransactionRecord } from '../../chain/chain.js';
import { type Fate, OPEN, type Unit } from './fate.js';

/** A unit, as it was signed last, and its fate as far as it is known. */
export interface Slot<U extends Unit> {
  unit: U;
  fate: Fate;
  /** It has certainly not been submitted as it is signed now. */
  isNew: boolean;
  /** This run has submitted it as it is signed now. */
  isSent: boolean;
  /** It was, before those that it comes after had landed; or a run before this one may have done so. */
  isEarly: boolean;
  /** What it has landed as without having had a chance, for it came too early. */
  inVain: readonly TransactionRecord[];
}

/** @param isNew - was its intent stored just now? */
export const slotOf = <U extends Unit>(unit: U, isNew: boolean): Slot<U> => ({
  unit,
  fate: OPEN,
  isNew,
  isSent: false,
  isEarly: !isNew,
  inVain: [],
});

export const unitOf = <U extends Unit>({ unit }: Slot<U>): U => unit;

/** Those that have no end yet, up to the one that stopped the others. */
export function openOf<U extends Unit>(
  slots: readonly Slot<U>[],
  as: 'bundles' | 'alone',
): readonly Slot<U>[] {
  const stop = as === 'bundles' ? slots.findIndex(({ fate }) => fate.kind === 'failed') : -1;
  return slots
    .slice(0, stop < 0 ? slots.length : stop)
    .filter(({ fate }) => fate.kind === 'open' || fate.kind === 'expired');
}

/** @param fates - of the first of these; those after them stay as they are. */
export function take<U extends Unit>(slots: readonly Slot<U>[], fates: readonly Fate[]): void {
  for (const [index, slot] of slots.entries()) slot.fate = fates[index] ?? slot.fate;
}

/** Did the chain refuse because it does not know the blockhash, or no longer? */
export const isExpiry = ({ error }: Rejection): boolean =>
  error.kind === 'transaction' && error.error === 'BlockhashNotFound';
