/** What a node has kept of a transaction beside its bytes: balances of token accounts, addresses from tables, inner calls. */
import { type Address, isAddress } from '../../values/address.js';
import { base58Decode } from '../../values/base58.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import type { ProgramCall, TokenChange } from '../chain.js';
import type { Lookup } from '../transaction/message.js';
import { decodeTransaction } from '../transaction/wire.js';

const AMOUNT = /^[0-9]{1,20}$/;

interface Balance {
  readonly index: number;
  readonly mint: Address;
  readonly amount: bigint;
}

function balanceOf(value: JsonValue): Balance | undefined {
  if (!isJsonObject(value)) return undefined;
  const { accountIndex: index, mint, uiTokenAmount } = value;
  const amount = isJsonObject(uiTokenAmount) ? uiTokenAmount['amount'] : undefined;
  if (typeof index !== 'number' || typeof mint !== 'string' || !isAddress(mint)) return undefined;
  return typeof amount === 'string' && AMOUNT.test(amount)
    ? { index, mint, amount: BigInt(amount) }
    : undefined;
}

/**
 * Addresses from lookup tables stand behind those of the message: first the writable ones. `undefined` where the node does not
 * say, or says what cannot be.
 */
export function tableAddressesOf(meta: JsonObject, wire: Uint8Array): readonly Address[] | undefined {
  const loaded = meta['loadedAddresses'];
  if (!isJsonObject(loaded)) return undefined;
  const { lookups } = decodeTransaction(wire).message;
  const writable = addressesIn(loaded['writable'], count(lookups, 'writableIndexes'));
  const readable = addressesIn(loaded['readonly'], count(lookups, 'readonlyIndexes'));
  return writable && readable && [...writable, ...readable];
}

/** How many addresses a transaction takes from tables. */
const count = (lookups: readonly Lookup[], which: 'writableIndexes' | 'readonlyIndexes'): number =>
  lookups.reduce((sum, lookup) => sum + lookup[which].length, 0);

function addressesIn(value: JsonValue | undefined, length: number): readonly Address[] | undefined {
  if (!Array.isArray(value) || value.length !== length) return undefined;
  const list = value as readonly JsonValue[];
  return list.every((key): key is Address => typeof key === 'string' && isAddress(key)) ? list : undefined;
}

/** By its index, every address that a transaction names. */
const keysOf = (meta: JsonObject, wire: Uint8Array): readonly Address[] => [
  ...decodeTransaction(wire).message.staticKeys,
  ...(tableAddressesOf(meta, wire) ?? []),
];

/** `undefined` where the node has not kept it, or what it says cannot be told. */
export function tokenChangesOf(meta: JsonObject, wire: Uint8Array): readonly TokenChange[] | undefined {
  const keys = keysOf(meta, wire);
  const changes = new Map<number, TokenChange>();
  for (const [name, field] of [
    ['before', 'preTokenBalances'],
    ['after', 'postTokenBalances'],
  ] as const) {
    const balances = meta[field];
    if (!Array.isArray(balances)) return undefined;
    for (const balance of (balances as readonly JsonValue[]).map(balanceOf)) {
      const account = balance === undefined ? undefined : keys[balance.index];
      if (balance === undefined || account === undefined) return undefined;
      const known = changes.get(balance.index) ?? { account, mint: balance.mint, before: 0n, after: 0n };
      changes.set(balance.index, { ...known, [name]: balance.amount });
    }
  }
  return [...changes.values()];
}

/** Longest base58 text of the data of a call, which is at most 10 KiB. */
const MAX_DATA_LENGTH = 14_000;

function callOf(value: JsonValue, keys: readonly Address[]): ProgramCall | undefined {
  if (!isJsonObject(value)) return undefined;
  const { programIdIndex, accounts, data: text } = value;
  const addressAt = (index: JsonValue | undefined): Address | undefined =>
    typeof index === 'number' ? keys[index] : undefined;
  const program = addressAt(programIdIndex);
  const named = Array.isArray(accounts) ? (accounts as readonly JsonValue[]).map(addressAt) : [undefined];
  const data = typeof text === 'string' && text.length <= MAX_DATA_LENGTH ? base58Decode(text) : undefined;
  if (program === undefined || data === undefined) return undefined;
  return named.every((address) => address !== undefined) ? { program, accounts: named, data } : undefined;
}

/** `undefined` where the node has not kept them, or what it says cannot be told. */
export function innerCallsOf(meta: JsonObject, wire: Uint8Array): readonly ProgramCall[] | undefined {
  const { innerInstructions } = meta;
  if (!Array.isArray(innerInstructions)) return undefined;
  const keys = keysOf(meta, wire);
  const calls = (innerInstructions as readonly JsonValue[]).flatMap((group) => {
    const list = isJsonObject(group) ? group['instructions'] : undefined;
    return Array.isArray(list)
      ? (list as readonly JsonValue[]).map((call) => callOf(call, keys))
      : [undefined];
  });
  return calls.every((call) => call !== undefined) ? calls : undefined;
}
