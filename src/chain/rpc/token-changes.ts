/** What the token accounts of a transaction held before and after it, as a node has kept it. */
import { type Address, isAddress } from '../../values/address.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/canonical-json.js';
import type { TokenChange } from '../chain.js';
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

/** Addresses from lookup tables stand behind those of the message: first the writable ones. */
function loadedKeys(meta: JsonObject): readonly JsonValue[] {
  const loaded = meta['loadedAddresses'];
  if (!isJsonObject(loaded)) return [];
  const lists = [loaded['writable'], loaded['readonly']];
  return lists.flatMap((list) => (Array.isArray(list) ? (list as readonly JsonValue[]) : []));
}

/** `undefined` where the node has not kept it, or what it says cannot be told. */
export function tokenChangesOf(meta: JsonObject, wire: Uint8Array): readonly TokenChange[] | undefined {
  const keys: readonly JsonValue[] = [...decodeTransaction(wire).message.staticKeys, ...loadedKeys(meta)];
  const changes = new Map<number, TokenChange>();
  for (const [name, field] of [
    ['before', 'preTokenBalances'],
    ['after', 'postTokenBalances'],
  ] as const) {
    const balances = meta[field];
    if (!Array.isArray(balances)) return undefined;
    for (const balance of (balances as readonly JsonValue[]).map(balanceOf)) {
      const account = balance === undefined ? undefined : keys[balance.index];
      if (balance === undefined || typeof account !== 'string' || !isAddress(account)) return undefined;
      const known = changes.get(balance.index) ?? { account, mint: balance.mint, before: 0n, after: 0n };
      changes.set(balance.index, { ...known, [name]: balance.amount });
    }
  }
  return [...changes.values()];
}
