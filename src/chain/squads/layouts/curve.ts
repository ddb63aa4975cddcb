/** Is a 32-byte value a point of ed25519? Program-derived addresses are exactly those that are not. */
import { copyBytes, type ReadonlyBytes } from '../../../values/bytes.js';

/** Field prime 2^255 − 19 and the curve's constant −121665/121666 (RFC 8032, section 5.1). */
const P = 57896044618658097711785492504343953926634992332820282019728792003956564819949n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** `value` squared `times` times. */
function squared(value: bigint, times: number): bigint {
  let result = value;
  for (let round = 0; round < times; round += 1) result = (result * result) % P;
  return result;
}

/** `value` to the power of (P − 1) / 2 = 2^254 − 10: 1 for a square, P − 1 for none, 0 for 0. */
function eulerCriterion(value: bigint): bigint {
  const ones2 = (squared(value, 1) * value) % P;
  const ones4 = (squared(ones2, 2) * ones2) % P;
  const ones5 = (squared(ones4, 1) * value) % P;
  const ones10 = (squared(ones5, 5) * ones5) % P;
  const ones20 = (squared(ones10, 10) * ones10) % P;
  const ones40 = (squared(ones20, 20) * ones20) % P;
  const ones80 = (squared(ones40, 40) * ones40) % P;
  const ones160 = (squared(ones80, 80) * ones80) % P;
  const ones240 = (squared(ones160, 80) * ones80) % P;
  const ones250 = (squared(ones240, 10) * ones10) % P;
  const six = (squared(value, 2) * squared(value, 1)) % P;
  return (squared(ones250, 4) * six) % P;
}

/**
 * Whether the bytes decompress to a point, as the runtime decides it: the top bit (the sign of x) is left out, a y above the
 * prime is reduced, and x² = (y² − 1) / (d·y² + 1) must have a root. The denominator is never 0, so the quotient is a square
 * exactly if the product is.
 */
export function isOnCurve(bytes: ReadonlyBytes): boolean {
  const bigEndian = Buffer.from(copyBytes(bytes).buffer).reverse();
  bigEndian[0] = bigEndian.readUInt8(0) & 0x7f;
  const y = BigInt(`0x${bigEndian.toString('hex')}`) % P;
  const ySquared = (y * y) % P;
  const product = ((ySquared - 1n + P) * (D * ySquared + 1n)) % P;
  return eulerCriterion(product) <= 1n;
}
