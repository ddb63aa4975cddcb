/** Values of records ⇄ values of columns. */
import { invariant } from '../errors/flywheel-error.js';
import { BASE_UNITS_DIGITS, MAX_BASE_UNITS } from '../values/token-amount.js';

/** A u64 as 20 digits, so that text compares as numbers do. @throws `ERR_INTERNAL` outside of u64. */
export function toU64Text(value: bigint): string {
  invariant(value >= 0n && value <= MAX_BASE_UNITS, `Not a u64: ${value}`);
  return value.toString().padStart(BASE_UNITS_DIGITS, '0');
}

export const toU64TextOrNull = (value: bigint | null): string | null =>
  value === null ? null : toU64Text(value);

export const fromU64TextOrNull = (text: string | null): bigint | null =>
  text === null ? null : BigInt(text);

export const toJsonOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);

/** The value of a JSON column; its type is what the same repository wrote. */
export const fromJson = <Value>(text: string): Value => JSON.parse(text) as Value;

export const fromJsonOrNull = <Value>(text: string | null): Value | null =>
  text === null ? null : fromJson<Value>(text);
