/** Schemas of the values in a node's JSON. */
import * as z from 'zod';
import { type Address, isAddress } from '../../values/address.js';
import { base58Decode } from '../../values/bytes.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { InexactNumber, jsonText } from '../../values/exact-number.js';
import type { TokenChange, TransactionError, TransactionRecord } from '../chain.js';
import { type Call, lookedUp, type Message } from '../transaction/message.js';
import { decodeTransaction } from '../transaction/wire.js';

/** @param read - `undefined` for a value of another form. */
const readBy = <Value>(expected: string, read: (value: unknown) => Value | undefined) =>
  z.unknown().transform((value, { issues }): Value => {
    const found = read(value);
    if (found !== undefined) return found;
    issues.push({ code: 'custom', input: value, message: `expected ${expected}` });
    return z.NEVER;
  });

/** A list of a length that fits. The own checks of `z.array` also compare the `length` of an object, and throw where it is none. */
export const listOf = <Value>(item: z.ZodType<Value>, fits: (length: number) => boolean) =>
  z.array(item).refine(({ length }) => fits(length), 'not as many items as requested');

/** Slots, heights, times: whole numbers from 0 that a double represents exactly. */
export const count = z.int().nonnegative();

const U64_LIMIT = 2n ** 64n;

/** Exact to the last digit. */
export const u64 = readBy('a 64-bit number', (value) => {
  const digits = value instanceof InexactNumber ? value.text : typeof value === 'number' ? String(value) : '';
  return /^\d{1,20}$/.test(digits) && BigInt(digits) < U64_LIMIT ? BigInt(digits) : undefined;
});

export const address = readBy('an address', (value) =>
  typeof value === 'string' && isAddress(value) ? value : undefined,
);

/** `[text, "base64"]`; only canonical base64 passes. */
export const base64 = readBy('base64', (value) => {
  const [text, encoding] = Array.isArray(value) ? (value as readonly unknown[]) : [];
  if (typeof text !== 'string' || encoding !== 'base64') return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
});

const HASH_BYTES = 32;

export const hash = z
  .string()
  .refine(
    (text) => text.length <= 2 * HASH_BYTES && base58Decode(text)?.length === HASH_BYTES,
    'expected a hash',
  );

const MAX_SECONDS = 253_402_300_799;

/** Seconds up to the year 9999, as milliseconds; `null` where the node does not say. */
export const timeMs = count
  .max(MAX_SECONDS)
  .nullish()
  .transform((seconds) => (seconds == null ? null : seconds * 1_000));

/** An error is stored, listed and logged; a node must not decide how long it is. */
const MAX_ERROR_LENGTH = 200;

const cut = (text: string): string => text.slice(0, MAX_ERROR_LENGTH);

/** A Rust enum as JSON: `"Name"` or `{ "Name": details }`. */
function variantOf(value: unknown): readonly [name?: string, details?: unknown] {
  if (typeof value === 'string') return [cut(value)];
  const [[name, details] = []] = isJsonObject(value) ? Object.entries(value) : [];
  return name === undefined ? [] : [cut(name), details];
}

/**
 * Reads the `err` of a transaction: text, `{ InstructionError: [index, reason] }`, or a name with details.
 * An unknown form is kept as JSON text, never dropped: it is a failure all the same.
 */
export function readTransactionError(err: unknown): TransactionError | null {
  if (err === null || err === undefined) return null;
  const unclear: TransactionError = { kind: 'transaction', error: cut(jsonText(err)) };
  const [name, details] = variantOf(err);
  if (name === undefined) return unclear;
  if (name !== 'InstructionError' || details === undefined) {
    const accountIndex = isJsonObject(details) ? details['account_index'] : undefined;
    return { kind: 'transaction', error: name, ...(typeof accountIndex === 'number' && { accountIndex }) };
  }
  const [index, reason] = Array.isArray(details) ? (details as readonly unknown[]) : [];
  const [error, custom] = variantOf(reason);
  if (typeof index !== 'number' || error === undefined) return unclear;
  if (error === 'Custom' && typeof custom === 'number') return { kind: 'instruction', index, custom };
  return { kind: 'instruction', index, error };
}

export const transactionError = z.unknown().optional().transform(readTransactionError);

export const logLines = z
  .array(z.string())
  .nullish()
  .transform((logs) => logs ?? []);

/** A part of the metadata; `undefined` where the node does not store it, or where it is malformed. */
const told = <Value>(schema: z.ZodType<Value>) => schema.optional().catch(undefined);

const tokenBalance = z.object({
  accountIndex: count,
  mint: address,
  uiTokenAmount: z.object({ amount: z.string().regex(/^[0-9]{1,20}$/) }),
});

/** Instructions of a transaction, inner ones included. */
const MAX_INSTRUCTIONS = 64;
/** Base58 length. Decoding takes its square, and no instruction that is read has longer data. */
const MAX_DATA_LENGTH = 2_000;

const innerCall = z.object({ programIdIndex: count, accounts: z.array(count), data: z.string() });

const toldMeta = z.object({
  preBalances: told(z.array(u64)),
  postBalances: told(z.array(u64)),
  preTokenBalances: told(z.array(tokenBalance)),
  postTokenBalances: told(z.array(tokenBalance)),
  loadedAddresses: told(z.object({ writable: z.array(address), readonly: z.array(address) })),
  innerInstructions: told(z.array(z.object({ instructions: z.array(innerCall) }))),
});

type ToldMeta = z.infer<typeof toldMeta>;

/**
 * What a node tells of a landed transaction beside its bytes. A part is `undefined` where the node does not store it, or where it
 * is malformed.
 */
export function metaOf(
  meta: unknown,
  wire: Uint8Array,
): Pick<TransactionRecord, 'balances' | 'tableAddresses' | 'tokenChanges' | 'innerCalls'> {
  const { message } = decodeTransaction(wire);
  const found = toldMeta.parse(meta);
  const { preBalances, postBalances } = found;
  const tableAddresses = tableAddressesOf(found, message);
  const keys = [...message.staticKeys, ...(tableAddresses ?? [])];
  const arePaired = preBalances !== undefined && preBalances.length === postBalances?.length;
  return {
    tableAddresses,
    balances: arePaired
      ? preBalances.map((before, at) => ({ before, after: postBalances[at] as bigint }))
      : undefined,
    tokenChanges: tokenChangesOf(found, keys),
    innerCalls: innerCallsOf(found, keys),
  };
}

/** Addresses from lookup tables follow those of the message, writable ones first. */
function tableAddressesOf({ loadedAddresses: loaded }: ToldMeta, message: Message) {
  if (loaded?.writable.length !== lookedUp(message, 'writableIndexes')) return undefined;
  if (loaded.readonly.length !== lookedUp(message, 'readonlyIndexes')) return undefined;
  return [...loaded.writable, ...loaded.readonly];
}

function tokenChangesOf({ preTokenBalances, postTokenBalances }: ToldMeta, keys: readonly Address[]) {
  if (preTokenBalances === undefined || postTokenBalances === undefined) return undefined;
  const changes = new Map<Address, TokenChange>();
  for (const [when, balances] of Object.entries({ before: preTokenBalances, after: postTokenBalances }))
    for (const { accountIndex, mint, uiTokenAmount } of balances) {
      const account = keys[accountIndex];
      if (account === undefined) return undefined;
      const known = changes.get(account) ?? { account, mint, before: null, after: 0n };
      changes.set(account, { ...known, [when]: BigInt(uiTokenAmount.amount) });
    }
  return [...changes.values()];
}

function innerCallsOf({ innerInstructions }: ToldMeta, keys: readonly Address[]) {
  const told = innerInstructions?.flatMap(({ instructions }) => instructions);
  if (told === undefined || told.length > MAX_INSTRUCTIONS) return undefined;
  const calls: Call<Address>[] = [];
  for (const { programIdIndex, accounts, data: text } of told) {
    const program = keys[programIdIndex];
    const named = accounts.map((index) => keys[index]);
    const data = text.length > MAX_DATA_LENGTH ? new Uint8Array() : base58Decode(text);
    if (program === undefined || data === undefined || !named.every((one) => one !== undefined))
      return undefined;
    calls.push({ program, accounts: named, data });
  }
  return calls;
}
