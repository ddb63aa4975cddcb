/**
 * A Solana address: 32 bytes in base58.
 *
 * The caches of recent addresses are measured: without them a burn of a burn-batch takes a fifth more CPU time (0.34 to 0.41
 * ms), and a batch of a hundred pipelines a third more (300 to 410 ms).
 */
import { FlywheelError } from '../errors/flywheel-error.js';
import { base58Decode, base58Encode, copyBytes, type ReadonlyBytes, readBuffer } from './bytes.js';

declare const brand: unique symbol;

export type Address = string & { readonly [brand]: 'Address' };

export const ADDRESS_LENGTH_BYTES = 32;
/** 32 bytes take 32 to 44 base58 characters. */
const MAX_TEXT_LENGTH = 44;

const CACHE_LIMIT = 4_096;
const textByBytes = new Map<string, Address>();
const bytesByText = new Map<string, ReadonlyBytes>();

function keep<Value>(cache: Map<string, Value>, key: string, value: Value): Value {
  if (cache.size >= CACHE_LIMIT) cache.clear();
  cache.set(key, value);
  return value;
}

function decode(text: string): ReadonlyBytes | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const known = bytesByText.get(text);
  if (known !== undefined) return known;
  const bytes = base58Decode(text);
  if (bytes?.length !== ADDRESS_LENGTH_BYTES) return undefined;
  return keep(bytesByText, text, bytes);
}

export const isAddress = (text: string): text is Address => decode(text) !== undefined;

/** @throws `ERR_INVALID_REQUEST` unless the text is base58 of 32 bytes. */
export function address(text: string): Address {
  if (!isAddress(text)) {
    throw new FlywheelError(
      'ERR_INVALID_REQUEST',
      `Expected a base58 address of 32 bytes, got ${JSON.stringify(text.slice(0, 64))}.`,
    );
  }
  return text;
}

/** The 32 bytes of an address; all callers share one array. */
export function addressBytes(value: Address): ReadonlyBytes {
  const bytes = decode(value);
  if (bytes === undefined) throw new FlywheelError('ERR_INTERNAL', `Not an address: ${value}`);
  return bytes;
}

export function addressFromBytes(bytes: ReadonlyBytes): Address {
  if (bytes.length !== ADDRESS_LENGTH_BYTES) {
    throw new FlywheelError('ERR_INTERNAL', `An address has 32 bytes, got ${bytes.length}.`);
  }
  return addressAt(readBuffer(bytes), 0);
}

/** The address at `start`; the buffer must contain all 32 bytes. */
export function addressAt(buffer: Buffer, start: number): Address {
  const key = buffer.toString('latin1', start, start + ADDRESS_LENGTH_BYTES);
  const known = textByBytes.get(key);
  if (known !== undefined) return known;
  // A copy for the cache: the bytes of most addresses are needed again.
  const bytes = new Uint8Array(buffer.subarray(start, start + ADDRESS_LENGTH_BYTES));
  const text = base58Encode(bytes) as Address;
  keep(bytesByText, text, bytes);
  return keep(textByBytes, key, text);
}

/** Field prime 2^255 − 19 and the curve's constant −121665/121666 (RFC 8032, section 5.1). */
const P = 57896044618658097711785492504343953926634992332820282019728792003956564819949n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Whether `value` is a square in the field (0 is): the Jacobi symbol, by division and quadratic reciprocity. */
function isSquare(value: bigint): boolean {
  let [upper, lower, isNegative] = [value, P, false];
  while (upper !== 0n) {
    const rest = lower & 7n;
    for (; (upper & 1n) === 0n; upper >>= 1n) if (rest === 3n || rest === 5n) isNegative = !isNegative;
    // Both are 3 modulo 4: swapping changes the sign.
    if ((upper & lower & 2n) !== 0n) isNegative = !isNegative;
    [upper, lower] = [lower % upper, upper];
  }
  return !isNegative;
}

/**
 * Whether the bytes decompress to a point, by the rules of the runtime: the top bit (the sign of x) is ignored, a y above the
 * prime is reduced, and x² = (y² − 1) / (d·y² + 1) must have a root. The denominator is never 0, so the quotient is a square
 * exactly if the product is.
 */
export function isCurvePoint(bytes: ReadonlyBytes): boolean {
  const bigEndian = Buffer.from(copyBytes(bytes).buffer).reverse();
  bigEndian[0] = bigEndian.readUInt8(0) & 0x7f;
  const y = BigInt(`0x${bigEndian.toString('hex')}`) % P;
  const ySquared = (y * y) % P;
  return isSquare(((ySquared - 1n + P) * (D * ySquared + 1n)) % P);
}
