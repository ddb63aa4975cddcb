/** Parameters of a call as they came, read one by one. */
import { type Address, isAddress } from '../values/address.js';
import { base58Decode } from '../values/base58.js';
import type { JsonValue } from '../values/canonical-json.js';
import { COMMITMENTS, type Commitment } from './cluster.js';
import { invalidParams } from './rpc-error.js';

/** The options object that most methods take last. */
export type Options = Readonly<Record<string, JsonValue | undefined>>;

/** Characters of base58 that are read at most; it takes a time that grows with their square. */
const MAX_BASE58_LENGTH = 2_048;

/** What was asked. */
export class Params {
  readonly #values: readonly JsonValue[];

  constructor(values: readonly JsonValue[]) {
    this.#values = values;
  }

  /** @throws RpcError */
  address(at: number): Address {
    return readAddress(this.#values[at]);
  }

  text(at: number, what: string): string {
    const value = this.#values[at];
    if (typeof value !== 'string') throw invalidParams(`Invalid params: expected ${what}.`);
    return value;
  }

  count(at: number, what: string): number {
    return readCount(this.#values[at], what);
  }

  texts(at: number, most: number): readonly string[] {
    const value = this.#values[at];
    if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
      throw invalidParams('Invalid params: expected a list of texts.');
    if (value.length > most) throw invalidParams(`Too many inputs provided; max ${most}`);
    return value as readonly string[];
  }

  addresses(at: number, most: number): readonly Address[] {
    return this.texts(at, most).map(readAddress);
  }

  has(at: number): boolean {
    return this.#values[at] !== undefined && this.#values[at] !== null;
  }

  raw(at: number): JsonValue | undefined {
    return this.#values[at];
  }

  /** The object at a place, or one without fields. */
  options(at: number): Options {
    const value = this.#values[at] ?? {};
    if (typeof value !== 'object' || Array.isArray(value))
      throw invalidParams('Invalid params: expected an object.');
    return value as Options;
  }
}

/** @throws RpcError */
export function readAddress(value: JsonValue | undefined): Address {
  if (typeof value === 'string' && isAddress(value)) return value;
  throw invalidParams('Invalid param: Invalid');
}

export function readCount(value: JsonValue | undefined, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidParams(`Invalid params: expected ${what}.`);
}

/** The level of commitment that is asked for. @throws RpcError */
export function commitmentOf({ commitment }: Options, otherwise: Commitment = 'finalized'): Commitment {
  if (commitment === undefined || commitment === null) return otherwise;
  const found = COMMITMENTS.find((name) => name === commitment);
  if (found === undefined) throw invalidParams(`Invalid params: unknown commitment.`);
  return found;
}

/** Bytes in base58 or base64. @throws RpcError */
export function readBytes(text: string, encoding: 'base58' | 'base64'): Uint8Array {
  if (encoding === 'base64') {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')) return bytes;
    throw invalidParams('invalid base64 encoding');
  }
  const bytes = text.length > MAX_BASE58_LENGTH ? undefined : base58Decode(text);
  if (bytes === undefined) throw invalidParams('invalid base58 encoding');
  return bytes;
}
