/** What every check runs, and what only `npm run ci:long` runs. */
export const isLong = process.env['LONG'] === '1';

/** So many of all, evenly spread, with the first and the last among them; all of them where there are hours. */
export function sampleOf<Item>(all: readonly Item[], count: number): readonly Item[] {
  if (isLong || count >= all.length) return all;
  const step = (all.length - 1) / Math.max(1, count - 1);
  return Array.from({ length: count }, (_, at) => all[Math.round(at * step)] as Item);
}
