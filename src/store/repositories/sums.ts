/** Exact sums of amounts, which 64 bits cannot hold: each half of the 20 digits by itself, which is exact for 10^8 amounts. */

const HALF_DIGITS = 10;
/** What the higher half is worth. */
export const HALF = 10n ** BigInt(HALF_DIGITS);

/** Sums of the halves of a column `amount`, in SQL. */
export const SUM = {
  high: `sum(cast(substr(amount, 1, ${HALF_DIGITS}) as bigint))`,
  low: `sum(cast(substr(amount, ${HALF_DIGITS + 1}) as bigint))`,
  whole: ({ high, low }: { readonly high: number; readonly low: number }): bigint =>
    BigInt(high) * HALF + BigInt(low),
};
