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
