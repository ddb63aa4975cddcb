/** The text of a keypair file → its 64 bytes. What is in the usual format never becomes text in this process. */
import { KEYPAIR_LENGTH_BYTES } from '../../chain/transaction/signer.js';
import { base58Decode } from '../../values/base58.js';

const [OPEN, CLOSE, COMMA, ZERO, NINE] = [0x5b, 0x5d, 0x2c, 0x30, 0x39];
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);
const MAX_DIGITS = 3;

/** The same memory without the white space around. */
function trimmed(text: Uint8Array): Uint8Array {
  let [start, end] = [0, text.length];
  while (start < end && SPACES.has(text[start])) start += 1;
  while (end > start && SPACES.has(text[end - 1])) end -= 1;
  return text.subarray(start, end);
}

/** The digits of a byte as JSON writes it. */
function byteOf(digits: Uint8Array): number | undefined {
  const { length } = digits;
  if (length === 0 || length > MAX_DIGITS || (length > 1 && digits[0] === ZERO)) return undefined;
  let value = 0;
  for (const code of digits) {
    if (code < ZERO || code > NINE) return undefined;
    value = value * 10 + (code - ZERO);
  }
  return value <= 0xff ? value : undefined;
}

/** A JSON array of bytes; `undefined` for anything else, which {@link arrayProblem} explains. */
function readByteArray(content: Uint8Array): Uint8Array | undefined {
  const text = trimmed(content);
  if (text[0] !== OPEN || text.at(-1) !== CLOSE) return undefined;
  const values: number[] = [];
  try {
    for (let start = 1; start < text.length; ) {
      const comma = text.indexOf(COMMA, start);
      const end = comma < 0 ? text.length - 1 : comma;
      const value = byteOf(trimmed(text.subarray(start, end)));
      if (value === undefined) return undefined;
      values.push(value);
      start = end + 1;
    }
    return Uint8Array.from(values);
  } finally {
    values.fill(0);
  }
}

function arrayProblem(text: string): string {
  try {
    JSON.parse(text);
    return 'it is not a JSON array of bytes';
  } catch {
    return 'its JSON array is not complete';
  }
}

/**
 * Reads a JSON array of 64 bytes, or base58 of them.
 * @returns the bytes, to be overwritten by the caller, or what is wrong.
 */
export function parseKeypair(content: Uint8Array): Uint8Array | string {
  const [first] = trimmed(content);
  if (first === undefined) return 'it is empty';
  const bytes =
    first === OPEN ? readByteArray(content) : base58Decode(Buffer.from(content).toString('latin1').trim());
  if (bytes === undefined)
    return first === OPEN
      ? arrayProblem(Buffer.from(content).toString('utf8'))
      : 'it is neither a JSON array of bytes nor base58';
  if (bytes.length === KEYPAIR_LENGTH_BYTES) return bytes;
  bytes.fill(0);
  return `a keypair has ${KEYPAIR_LENGTH_BYTES} bytes, but this one has ${bytes.length}`;
}
