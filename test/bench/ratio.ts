/** The result of a measurement: a ratio of two times, or one number, with its limit. */

export interface BenchRatio {
  readonly name: string;
  readonly ratio: number;
  /** Maximum, or minimum with `atLeast`. */
  readonly target: number;
  readonly atLeast?: boolean;
  readonly unit?: string;
}

export const keeps = ({ ratio, target, atLeast }: BenchRatio): boolean =>
  atLeast === true ? ratio >= target : ratio <= target;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Median of several runs; others before them warm up the compiler and the file cache. */
export async function medianOf(
  runs: number,
  measure: (run: number) => Promise<number>,
  warmUps = 0,
): Promise<number> {
  for (let run = 0; run < warmUps; run += 1) await measure(-1 - run);
  const values: number[] = [];
  for (let run = 0; run < runs; run += 1) values.push(await measure(run));
  return median(values);
}

/** What 99 of 100 do not exceed. */
export const p99 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
