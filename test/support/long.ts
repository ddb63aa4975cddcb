/** What every check runs, and what only the long checks run: `LONG=1` runs all, as `npm run ci:long` does. */
import { describe, it } from 'vitest';

export const isLong = process.env['LONG'] === '1';

/** Seed of whatever is drawn at random. */
export const SEED = Number(process.env['TEST_SEED'] ?? 1);

/** Returns `count` items spread evenly over all of them, in their order, the first and the last among them; all where `LONG=1`. */
export function sampleOf<Item>(all: readonly Item[], count: number): readonly Item[] {
  if (isLong || count >= all.length) return all;
  const step = (all.length - 1) / Math.max(count - 1, 1);
  return Array.from({ length: count }, (_, at) => all[Math.round(at * step)] as Item);
}

function nothing(): void {}
nothing.each = () => nothing;

/** Declares a test, or several, that only the long checks run; its promise has another test that every check runs. */
export const itLong = isLong ? it : (nothing as unknown as typeof it);
export const describeLong = isLong ? describe : (nothing as unknown as typeof describe);
