/** Amounts that people and files write → the JSON number that the API takes, if that number is the same decimal, and sums of them. */
import { formatTokenAmount, sameDecimal } from '../../values/token-amount.js';

const DECIMAL = /^[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?$/;

/** The number, or what is wrong with the text. */
type ReadAmount = { readonly value: number } | { readonly problem: string };

/** Decimal text as a JSON number; refused when the number would read back as another decimal. */
export function readAmountText(text: string): ReadAmount {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
  if (!DECIMAL.test(text)) return { problem: `expected a positive decimal number, got ${shown}` };
  const value = Number(text);
  if (!(value > 0)) return { problem: `expected a positive number, got ${shown}` };
  if (!Number.isFinite(value) || !readsBack(text, value))
    return { problem: `${shown} cannot be sent as a JSON number without rounding it` };
  return { value };
}

function readsBack(text: string, value: number): boolean {
  try {
    return sameDecimal(text, String(value));
  } catch {
    return false;
  }
}

/** A number as digits × 10^exponent, from its shortest decimal text. */
function scientific(amount: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', power = '0'] = String(amount).split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** A sum of positive JSON amounts; nothing is rounded. */
class AmountSum {
  #digits = 0n;
  #exponent = 0;

  add(amount: number): void {
    const { digits, exponent } = scientific(amount);
    const low = Math.min(this.#exponent, exponent);
    this.#digits =
      this.#digits * 10n ** BigInt(this.#exponent - low) + digits * 10n ** BigInt(exponent - low);
    this.#exponent = low;
  }

  /** Decimal text. */
  get text(): string {
    return formatTokenAmount(this.#digits, -this.#exponent);
  }
}

/** The sum of positive JSON amounts as decimal text; nothing is rounded. */
export function sumAmounts(amounts: readonly number[]): string {
  const sum = new AmountSum();
  for (const amount of amounts) sum.add(amount);
  return sum.text;
}
