/** Options that take an amount or a proof type. */

import { FlywheelError, isFlywheelError } from '../../errors/flywheel-error.js';
import { MAX_PROOF_TYPE_LENGTH } from '../../values/proof-type.js';
import { parseTokenAmount } from '../../values/token-amount.js';

const SOL_DECIMALS = 9;

/** Collects the values of an option that repeats. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

const DECIMAL = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/**
 * Decimal text, zero allowed, or the fallback.
 * @throws `ERR_INPUT_INVALID`
 */
export function decimalOption<Fallback>(
  flag: string,
  text: string | undefined,
  fallback: Fallback,
): string | Fallback {
  if (text === undefined) return fallback;
  if (DECIMAL.test(text) && text.length <= 60) return text;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected a decimal number such as 12.5, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}

/** SOL as lamports, zero allowed. @throws `ERR_INPUT_INVALID` */
export function lamportsOption(flag: string, given: string | undefined): bigint | undefined {
  const text = decimalOption(flag, given, undefined);
  if (text === undefined) return undefined;
  if (Number(text) === 0) return 0n;
  try {
    return parseTokenAmount(text, SOL_DECIMALS);
  } catch (cause) {
    if (!isFlywheelError(cause)) throw cause;
    throw new FlywheelError('ERR_INPUT_INVALID', `${flag}: ${cause.message}`, { cause });
  }
}

/**
 * A whole number in a range, or the fallback.
 * @throws `ERR_INPUT_INVALID`
 */
export function integerOption(
  flag: string,
  text: string | undefined,
  range: { readonly least: number; readonly most: number; readonly fallback: number },
): number {
  if (text === undefined) return range.fallback;
  const value = Number(text);
  if (/^[0-9]{1,9}$/.test(text) && value >= range.least && value <= range.most) return value;
  throw new FlywheelError(
    'ERR_INPUT_INVALID',
    `${flag}: expected a whole number from ${range.least} to ${range.most}, got ${JSON.stringify(text.slice(0, 60))}.`,
  );
}

/**
 * Proof types of a repeating option, each once.
 * @throws `ERR_INPUT_INVALID`
 */
export function proofTypes(given: readonly string[] = []): readonly string[] {
  const types = [...new Set(given)];
  const bad = types.find((type) => type === '' || type.length > MAX_PROOF_TYPE_LENGTH);
  if (bad !== undefined)
    throw new FlywheelError(
      'ERR_INPUT_INVALID',
      `--proof-type: expected 1 to ${MAX_PROOF_TYPE_LENGTH} characters.`,
    );
  return types;
}
