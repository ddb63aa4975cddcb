/** What a node has kept of a transaction beside its bytes: balances of token accounts, addresses from tables, inner calls. */
import type { Address } from '../../values/address.js';
import { base58Decode } from '../../values/base58.js';
import type { JsonObject, JsonValue } from '../../values/canonical-json.js';
import type { ProgramCall, TokenChange } from '../chain.js';
import { decodeTransaction } from '../transaction/wire.js';
import { addressText, count, list, Malformed, object, text } from './read-json.js';

/** `undefined` where the node has not kept it, or what it says cannot be. */
function told<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/** Addresses from lookup tables stand behind those of the message: first the writable ones. */
export const tableAddressesOf = (meta: JsonObject, wire: Uint8Array): readonly Address[] | undefined =>
  told(() => {
    const loaded = object(meta['loadedAddresses'], 'addresses of tables');
    const { lookups } = decodeTransaction(wire).message;
    const taken = (field: string, which: 'writableIndexes' | 'readonlyIndexes'): readonly Address[] => {
      const length = lookups.reduce((sum, lookup) => sum + lookup[which].length, 0);
      return list(loaded[field], 'addresses', length).map((one) => addressText(one, 'one'));
    };
    return [...taken('writable', 'writableIndexes'), ...taken('readonly', 'readonlyIndexes')];
  });

/** Every address that a transaction names, by its index. */
function keysOf(meta: JsonObject, wire: Uint8Array): (index: JsonValue | undefined) => Address {
  const keys = [...decodeTransaction(wire).message.staticKeys, ...(tableAddressesOf(meta, wire) ?? [])];
  return (index) => addressText(keys[count(index, 'an index')], 'an account');
}

const AMOUNT = /^[0-9]{1,20}$/;

function amountOf(value: JsonValue | undefined): bigint {
  const amount = text(object(value, 'an amount')['amount'], 'an amount');
  if (!AMOUNT.test(amount)) throw new Malformed('an amount that is no number');
  return BigInt(amount);
}

export const tokenChangesOf = (meta: JsonObject, wire: Uint8Array): readonly TokenChange[] | undefined =>
  told(() => {
    const keyAt = keysOf(meta, wire);
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
  });

/** Longest base58 text of the data of a call, which is at most 10 KiB. */
const MAX_DATA_LENGTH = 14_000;

function dataOf(value: JsonValue | undefined): Uint8Array {
  const encoded = text(value, 'data');
  const data = encoded.length <= MAX_DATA_LENGTH ? base58Decode(encoded) : undefined;
  if (data === undefined) throw new Malformed('data that are not base58');
  return data;
}

export const innerCallsOf = (meta: JsonObject, wire: Uint8Array): readonly ProgramCall[] | undefined =>
  told(() => {
    const keyAt = keysOf(meta, wire);
    return list(meta['innerInstructions'], 'inner instructions').flatMap((group) =>
      list(object(group, 'a group')['instructions'], 'instructions').map((one): ProgramCall => {
        const { programIdIndex, accounts, data } = object(one, 'a call');
        return {
          program: keyAt(programIdIndex),
          accounts: list(accounts, 'accounts').map(keyAt),
          data: dataOf(data),
        };
      }),
    );
  });
