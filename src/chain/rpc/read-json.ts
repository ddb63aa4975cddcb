/** Validates the JSON of a node: every value has the expected type, or `Malformed` is thrown. */
import { type Address, isAddress } from '../../values/address.js';
import { base58Decode } from '../../values/base58.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import { InexactNumber } from '../../values/exact-number.js';
import type { Balance, ProgramCall, TokenChange, TransactionError, TransactionRecord } from '../chain.js';
import type { Lookup } from '../transaction/message.js';
import { decodeTransaction } from '../transaction/wire.js';

/** An answer breaks the format of its method. The message follows "answered … with". */
export class Malformed extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Malformed';
  }
}

const malformed = (what: string): never => {
  throw new Malformed(what);
};

/** @param name - with its article, as in "a slot"; the same applies to the functions below. */
export function object(value: JsonValue | undefined, name: string): JsonObject {
  return isJsonObject(value) ? value : malformed(`${name} that is not an object`);
}

export function list(value: JsonValue | undefined, name: string, length?: number): readonly JsonValue[] {
  if (!Array.isArray(value)) return malformed(`${name} that are not a list`);
  const items = value as readonly JsonValue[];
  if (length !== undefined && items.length !== length)
    return malformed(`${items.length} ${name} instead of ${length}`);
  return items;
}

export function text(value: JsonValue | undefined, name: string): string {
  return typeof value === 'string' ? value : malformed(`${name} that is not text`);
}

export function boolean(value: JsonValue | undefined, name: string): boolean {
  return typeof value === 'boolean' ? value : malformed(`${name} that is not a boolean`);
}

/** A whole number from 0 that a double represents exactly: slots, heights, times. */
export function count(value: JsonValue | undefined, name: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : malformed(`${name} that is not a whole number`);
}

const U64_LIMIT = 2n ** 64n;

/** A 64-bit whole number, exact to the last digit. */
export function u64(value: JsonValue | undefined, name: string): bigint {
  const digits = value instanceof InexactNumber ? value.text : typeof value === 'number' ? String(value) : '';
  if (!/^\d{1,20}$/.test(digits) || BigInt(digits) >= U64_LIMIT)
    return malformed(`${name} that is not a 64-bit number`);
  return BigInt(digits);
}

export function addressText(value: JsonValue | undefined, name: string): Address {
  return typeof value === 'string' && isAddress(value) ? value : malformed(`${name} that is not an address`);
}

/** Bytes in the form `[text, "base64"]`; only canonical base64 passes. */
export function base64Bytes(value: JsonValue | undefined, name: string): Buffer {
  const [data, encoding] = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  if (typeof data !== 'string' || encoding !== 'base64')
    return malformed(`${name} in another encoding than base64`);
  const bytes = Buffer.from(data, 'base64');
  return bytes.toString('base64') === data ? bytes : malformed(`${name} that are not base64`);
}

/** A Rust enum as JSON: `"Name"` or `{ "Name": details }`. */
const variantOf = (value: JsonValue | undefined): readonly [name?: string, details?: JsonValue] =>
  typeof value === 'string' ? [value] : isJsonObject(value) ? (Object.entries(value)[0] ?? []) : [];

/**
 * Reads the `err` of a transaction: text, `{ InstructionError: [index, reason] }`, or a name with details.
 * An unknown form is kept as JSON text, never dropped: it is a failure all the same.
 */
export function readTransactionError(err: JsonValue | undefined): TransactionError | null {
  if (err === null || err === undefined) return null;
  const unclear: TransactionError = { kind: 'transaction', error: JSON.stringify(err) };
  const [name, details] = variantOf(err);
  if (name === undefined) return unclear;
  if (name !== 'InstructionError' || details === undefined) {
    const accountIndex = isJsonObject(details) ? details['account_index'] : undefined;
    return { kind: 'transaction', error: name, ...(typeof accountIndex === 'number' && { accountIndex }) };
  }
  const [index, reason] = Array.isArray(details) ? (details as readonly JsonValue[]) : [];
  const [error, custom] = variantOf(reason);
  if (typeof index !== 'number' || error === undefined) return unclear;
  if (error === 'Custom' && typeof custom === 'number') return { kind: 'instruction', index, custom };
  return { kind: 'instruction', index, error };
}

/** `undefined` where the node does not store the value, or the value is malformed. */
function told<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * What a node tells of a landed transaction beside its bytes. A part is `undefined` where the node does not store it, or where it
 * is malformed.
 */
export function metaOf(
  meta: JsonObject,
  wire: Uint8Array,
): Pick<TransactionRecord, 'balances' | 'tableAddresses' | 'tokenChanges' | 'innerCalls'> {
  const { staticKeys, lookups } = decodeTransaction(wire).message;
  const tableAddresses = told(() => tableAddressesOf(meta, lookups));
  const keys = [...staticKeys, ...(tableAddresses ?? [])];
  const keyAt: KeyAt = (index) => addressText(keys[count(index, 'an index')], 'an account');
  return {
    tableAddresses,
    balances: told(() => balancesOf(meta)),
    tokenChanges: told(() => tokenChangesOf(meta, keyAt)),
    innerCalls: told(() => innerCallsOf(meta, keyAt)),
  };
}

type KeyAt = (index: JsonValue | undefined) => Address;

/** Addresses from lookup tables follow those of the message, writable ones first. */
function tableAddressesOf(meta: JsonObject, lookups: readonly Lookup[]): readonly Address[] {
  const loaded = object(meta['loadedAddresses'], 'addresses of tables');
  const taken = (field: string, which: 'writableIndexes' | 'readonlyIndexes'): readonly Address[] => {
    const length = lookups.reduce((sum, lookup) => sum + lookup[which].length, 0);
    return list(loaded[field], 'addresses', length).map((one) => addressText(one, 'one'));
  };
  return [...taken('writable', 'writableIndexes'), ...taken('readonly', 'readonlyIndexes')];
}

function balancesOf(meta: JsonObject): readonly Balance[] {
  const after = list(meta['postBalances'], 'balances');
  return list(meta['preBalances'], 'balances', after.length).map((before, at) => ({
    before: u64(before, 'a balance'),
    after: u64(after[at], 'a balance'),
  }));
}

const AMOUNT = /^[0-9]{1,20}$/;

function amountOf(value: JsonValue | undefined): bigint {
  const amount = text(object(value, 'an amount')['amount'], 'an amount');
  return AMOUNT.test(amount) ? BigInt(amount) : malformed('an amount that is not a number');
}

function tokenChangesOf(meta: JsonObject, keyAt: KeyAt): readonly TokenChange[] {
  const changes = new Map<Address, TokenChange>();
  for (const [name, field] of [
    ['before', 'preTokenBalances'],
    ['after', 'postTokenBalances'],
  ] as const)
    for (const one of list(meta[field], 'balances')) {
      const balance = object(one, 'a balance');
      const [account, mint] = [keyAt(balance['accountIndex']), addressText(balance['mint'], 'a mint')];
      const known = changes.get(account) ?? { account, mint, before: null, after: 0n };
      changes.set(account, { ...known, [name]: amountOf(balance['uiTokenAmount']) });
    }
  return [...changes.values()];
}

/** Base58 length of the longest instruction data, 10 KiB. */
const MAX_DATA_LENGTH = 14_000;

function dataOf(value: JsonValue | undefined): Uint8Array {
  const encoded = text(value, 'data');
  const data = encoded.length <= MAX_DATA_LENGTH ? base58Decode(encoded) : undefined;
  return data ?? malformed('data that is not base58');
}

const innerCallsOf = (meta: JsonObject, keyAt: KeyAt): readonly ProgramCall[] =>
  list(meta['innerInstructions'], 'inner instructions').flatMap((group) =>
    list(object(group, 'a group')['instructions'], 'instructions').map((one): ProgramCall => {
      const { programIdIndex, accounts, data } = object(one, 'a call');
      return {
        program: keyAt(programIdIndex),
        accounts: list(accounts, 'accounts').map(keyAt),
        data: dataOf(data),
      };
    }),
  );
