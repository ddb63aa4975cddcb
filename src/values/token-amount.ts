/**
 * Token amounts: base units as bigint, with the decimals of their mint.
 *
 * No rounding: text or a number that is not a whole number of base units is refused.
 */
import { FlywheelError } from '../errors/flywheel-error.js';

/** Largest amount of a token account, in base units (u64). */
export const MAX_BASE_UNITS = 18_446_744_073_709_551_615n;
/** Digits of {@link MAX_BASE_UNITS}; stored amounts are padded to this width so that text compares as numbers. */
export const BASE_UNITS_DIGITS = 20;

const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,4}))?$/;

const refuse = (message: string): never => {
  throw new FlywheelError('ERR_INVALID_REQUEST', message);
};

/** Digits and power of ten: 1.25e3 is 125 × 10^1. */
export function scientific(text: string): { digits: bigint; exponent: number } {
  const parts = DECIMAL.exec(text);
  if (parts === null)
    return refuse(`Expected a positive decimal number, got ${JSON.stringify(text.slice(0, 80))}.`);
  const [, whole = '', fraction = '', power = '0'] = parts;
  if (whole.length + fraction.length > 400)
    return refuse(`The number has too many digits: ${text.slice(0, 40)}…`);
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

const MAX_WRITTEN_OUT = 40;

/** Decimal notation for messages: `1e-8` is `0.00000001`. */
const writtenOut = (text: string, digits: bigint, exponent: number): string =>
  !/e/i.test(text) || Math.abs(exponent) > MAX_WRITTEN_OUT
    ? text
    : formatTokenAmount(digits * 10n ** BigInt(Math.max(0, exponent)), Math.max(0, -exponent));

/**
 * Converts decimal text in whole tokens to base units.
 *
 * @param text - digits with an optional fraction and exponent, no sign; for a JSON number its shortest decimal text.
 * @param decimals - of the mint, 0 to 255.
 * @returns 1 to {@link MAX_BASE_UNITS}.
 * @throws `ERR_INVALID_REQUEST` for zero, a sign, NaN, more decimals than the mint has, or more than a u64.
 */
export function parseTokenAmount(text: string, decimals: number): bigint {
  const { digits, exponent } = scientific(text);
  if (digits === 0n) return refuse('The amount must be positive, got 0.');
  const shift = exponent + decimals;
  const shown = writtenOut(text, digits, exponent);
  if (shift > 400) return refuse(`The amount ${shown} is more than a token account can hold.`);
  const scaled = shift >= 0 ? digits * 10n ** BigInt(shift) : divideExactly(digits, -shift, shown, decimals);
  if (scaled > MAX_BASE_UNITS) {
    return refuse(
      `The amount ${shown} is more than a token account can hold (${formatTokenAmount(MAX_BASE_UNITS, decimals)}).`,
    );
  }
  return scaled;
}

function divideExactly(digits: bigint, places: number, text: string, decimals: number): bigint {
  const divisor = 10n ** BigInt(places);
  if (digits % divisor !== 0n)
    return refuse(`The amount ${text} has more decimals than the token has (${decimals}).`);
  return digits / divisor;
}

/**
 * Converts a JSON number in whole tokens to base units, through its shortest decimal text.
 * @throws `ERR_INVALID_REQUEST` as {@link parseTokenAmount}; also for negative and non-finite numbers.
 */
export function tokenAmountFromNumber(value: number, decimals: number): bigint {
  if (!Number.isFinite(value) || value <= 0)
    return refuse(`The amount must be a positive number, got ${String(value)}.`);
  return parseTokenAmount(String(value), decimals);
}

/** Base units as decimal text in whole tokens, without trailing zeros or grouping: 1250500000 at 6 is `1250.5`. */
export function formatTokenAmount(baseUnits: bigint, decimals: number): string {
  if (decimals === 0) return baseUnits.toString();
  const padded = baseUnits.toString().padStart(decimals + 1, '0');
  const fraction = padded.slice(-decimals).replace(/0+$/, '');
  const whole = padded.slice(0, -decimals);
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Whether two decimal texts are the same number, such as `1.50` and `15e-1`. */
export function sameDecimal(left: string, right: string): boolean {
  const a = scientific(left);
  const b = scientific(right);
  const low = Math.min(a.exponent, b.exponent);
  if (Math.max(a.exponent, b.exponent) - low > 800) return a.digits === 0n && b.digits === 0n;
  return a.digits * 10n ** BigInt(a.exponent - low) === b.digits * 10n ** BigInt(b.exponent - low);
}

/** A short visible word that cannot be read as part of the amount before it, as `000X` after `5`. */
const PLAIN_SYMBOL = /^(?=.*\p{L})(?!.*\p{Default_Ignorable_Code_Point})[\p{L}$][\p{L}\p{N}$._-]{0,15}$/u;

export const plainSymbol = (symbol: string | null): string | null =>
  symbol !== null && PLAIN_SYMBOL.test(symbol) ? symbol : null;

/** Digits and letters that resemble them (Latin, Cyrillic, Greek), or an exponent: `O00`, `e6`. */
const LIKE_DIGITS = /^[eE]?[\p{N}Oo\u041e\u043e\u039f\u03bfIl._-]+$/u;
const MAGNITUDES = new Set('k m b t mn bn tn mio mil thousand million billion trillion'.split(' '));

/**
 * The symbol as printed after an amount, in quotes if it resembles part of the amount; `null` if it may not follow an amount.
 */
export function shownSymbol(symbol: string | null): string | null {
  const plain = plainSymbol(symbol);
  const isLikeAmount = plain !== null && (LIKE_DIGITS.test(plain) || MAGNITUDES.has(plain.toLowerCase()));
  return isLikeAmount ? `"${plain}"` : plain;
}

export const SOL_DECIMALS = 9;

/** `1250000.5` → `1,250,000.5`; may be negative. */
export function grouped(decimal: string | number): string {
  const [whole = '', fraction] = String(decimal).split('.');
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

export const tokenText = (
  baseUnits: bigint,
  token: { readonly decimals: number; readonly symbol: string },
): string =>
  `${grouped(formatTokenAmount(baseUnits, token.decimals))} ${shownSymbol(token.symbol) ?? 'tokens'}`;

export const solText = (lamports: bigint): string =>
  `${grouped(formatTokenAmount(lamports, SOL_DECIMALS))} SOL`;
