/** Sums of amounts in whole tokens, exactly. */
import { formatTokenAmount } from '../../values/token-amount.js';

/** A number as digits × 10^exponent, from its shortest decimal text. */
function scientific(amount: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', power = '0'] = String(amount).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** The sum of positive JSON amounts as decimal text; nothing is rounded. */
export function sumAmounts(amounts: readonly number[]): string {
  const parts = amounts.map(scientific);
  const low = parts.reduce((least, { exponent }) => Math.min(least, exponent), 0);
  const sum = parts.reduce(
    (total, { digits, exponent }) => total + digits * 10n ** BigInt(exponent - low),
    0n,
  );
  return formatTokenAmount(sum, -low);
}
