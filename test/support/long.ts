/** What runs in every check, and what only where there are hours: `LONG=1` runs all, as `npm run ci:long` does. */

export const isLong = process.env['LONG'] === '1';

/** Chooses the sample, and whatever else is drawn at random. */
export const SEED = Number(process.env['TEST_SEED'] ?? 1);

/** So many of all, in their order; which they are follows from the seed. */
export function sampleOf<Item>(all: readonly Item[], count: number): readonly Item[] {
  if (isLong || count >= all.length) return all;
  const first = SEED % all.length;
  const chosen = new Set(
    Array.from({ length: count }, (_, at) => (first + Math.floor((at * all.length) / count)) % all.length),
  );
  return all.filter((_, at) => chosen.has(at));
}
