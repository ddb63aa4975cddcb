/** Separates the tests of every check from those of the long checks: `LONG=1` runs all, as `npm run ci:long` does. */
import { describe, it } from 'vitest';

export const isLong = process.env['LONG'] === '1';

export const SEED = Number(process.env['TEST_SEED'] ?? 1);

/** `count` items spread evenly, in order, with the first and the last; all items with `LONG=1`. */
export function sampleOf<Item>(all: readonly Item[], count: number): readonly Item[] {
  if (isLong || count >= all.length) return all;
  const step = (all.length - 1) / Math.max(count - 1, 1);
  return Array.from({ length: count }, (_, at) => all[Math.round(at * step)] as Item);
}

function nothing(): void {}
nothing.each = () => nothing;

/** Declares tests for the long checks only; another test of every check covers the same promise. */
export const itLong = isLong ? it : (nothing as unknown as typeof it);
export const describeLong = isLong ? describe : (nothing as unknown as typeof describe);
