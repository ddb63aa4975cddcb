/** The methods of a node that are used, each with its parameters and how its result is read; all at the commitment `confirmed`. */
import type { Address } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import type { JsonObject, JsonValue } from '../../values/canonical-json.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type { PastTransaction, Signature, TokenChange, TransactionError } from '../chain.js';
import { verifySignature } from '../transaction/signer.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { Question } from './ask.js';
import { addressText, base64Bytes, count, flag, list, Malformed, object, text, u64 } from './read-json.js';
import { tokenChangesOf } from './token-changes.js';
import { readTransactionError } from './transaction-error.js';

const COMMITMENT = 'confirmed';
const NEWEST_VERSION = 0;
const MS_PER_SECOND = 1_000;
const HASH_BYTES = 32;

/** A value, and the slot of the state that it is from. */
export interface InSlot<Value> {
  readonly slot: number;
  readonly value: Value;
}

const slotOf = ({ slot }: InSlot<unknown>): number => slot;

const from = (minContextSlot: number | undefined) => (minContextSlot === undefined ? {} : { minContextSlot });

/** The `{ context, value }` in which most results come. */
function inContext<Value>(result: JsonValue, read: (value: JsonValue | undefined) => Value): InSlot<Value> {
  const outer = object(result, 'a result');
  return {
    slot: count(object(outer['context'], 'a context')['slot'], 'a slot'),
    value: read(outer['value']),
  };
}

/** Rent epochs are of 64 bits, and some nodes write them as doubles; one this large can only mean exempt. */
const EXEMPT_FROM = 2n ** 63n;

function rentEpoch(value: JsonValue | undefined): bigint {
  if (value === undefined || (typeof value === 'number' && value >= Number(EXEMPT_FROM)))
    return RENT_EPOCH_EXEMPT;
  const epoch = u64(value, 'a rent epoch');
  return epoch < EXEMPT_FROM ? epoch : RENT_EPOCH_EXEMPT;
}

function account(value: JsonValue): AccountState | null {
  if (value === null) return null;
  const fields = object(value, 'an account');
  const data = base64Bytes(fields['data'], 'account data');
  const { space } = fields;
  if (space !== undefined && space !== data.length)
    throw new Malformed(`an account whose stated size is not that of its data, ${data.length} bytes`);
  return {
    lamports: u64(fields['lamports'], 'a balance'),
    owner: addressText(fields['owner'], 'an owner'),
    data,
    executable: flag(fields['executable'], 'a mark of a program'),
    rentEpoch: rentEpoch(fields['rentEpoch']),
  };
}

/** `getMultipleAccounts`, of at most a hundred. */
export const accountsQuestion = (
  addresses: readonly Address[],
): Question<InSlot<readonly (AccountState | null)[]>> => ({
  method: 'getMultipleAccounts',
  params: (slot) => [addresses, { encoding: 'base64', commitment: COMMITMENT, ...from(slot) }],
  read: (result) => inContext(result, (value) => list(value, 'accounts', addresses.length).map(account)),
  slotOf,
});

const hash = (value: JsonValue | undefined, name: string): string => {
  const hashText = text(value, name);
  if (hashText.length > 2 * HASH_BYTES || base58Decode(hashText)?.length !== HASH_BYTES)
    throw new Malformed(`${name} that is no hash`);
  return hashText;
};

/** `getLatestBlockhash`. */
export const BLOCKHASH_QUESTION: Question<{ blockhash: string; lastValidBlockHeight: bigint }> = {
  method: 'getLatestBlockhash',
  params: (slot) => [{ commitment: COMMITMENT, ...from(slot) }],
  read: (result) =>
    inContext(result, (value) => {
      const fields = object(value, 'a blockhash');
      return {
        blockhash: hash(fields['blockhash'], 'a blockhash'),
        lastValidBlockHeight: BigInt(count(fields['lastValidBlockHeight'], 'a block height')),
      };
    }).value,
};

/** How sure a state has to be. */
export type Commitment = 'confirmed' | 'finalized';

/** `getBlockHeight`. */
export const heightQuestion = (commitment: Commitment = COMMITMENT): Question<bigint> => ({
  method: 'getBlockHeight',
  params: (slot) => [{ commitment, ...from(slot) }],
  read: (result) => BigInt(count(result, 'a block height')),
});

/** `isBlockhashValid`. */
export const validityQuestion = (
  blockhash: string,
  commitment: Commitment = COMMITMENT,
): Question<InSlot<boolean>> => ({
  method: 'isBlockhashValid',
  params: (slot) => [blockhash, { commitment, ...from(slot) }],
  read: (result) => inContext(result, (value) => flag(value, 'a validity')),
  slotOf,
});

/** Where a signature has landed, and whether it failed there. */
export interface LandedStatus {
  readonly slot: number;
  readonly error: TransactionError | null;
}

/** A processed transaction may still be dropped with its fork, so it has not landed. */
function landedStatus(value: JsonValue): LandedStatus | null {
  if (value === null) return null;
  const { slot, err, confirmationStatus } = object(value, 'a status');
  if (confirmationStatus !== 'confirmed' && confirmationStatus !== 'finalized') return null;
  return { slot: count(slot, 'a slot'), error: readTransactionError(err) };
}

/** `getSignatureStatuses`, of at most 256, through all that the node remembers. The method itself takes no slot. */
export const statusesQuestion = (
  signatures: readonly Signature[],
): Question<InSlot<readonly (LandedStatus | null)[]>> => ({
  method: 'getSignatureStatuses',
  params: () => [signatures, { searchTransactionHistory: true }],
  read: (result) =>
    inContext(result, (value) => list(value, 'statuses', signatures.length).map(landedStatus)),
  slotOf,
});

/** A landed transaction: its bytes, and what the node says of it. */
export interface FoundTransaction {
  readonly wire: Uint8Array;
  readonly blockTimeMs: number;
  readonly logs: readonly string[];
  readonly feeLamports: bigint;
  readonly computeUnits: bigint;
  readonly tokenChanges: readonly TokenChange[] | undefined;
}

/** The bytes are held to the signature that was asked for: nobody else can have signed them. */
function signedBytes(value: JsonValue | undefined, signature: Signature): Uint8Array {
  const wire = base64Bytes(value, 'a transaction');
  try {
    const { signatures, message, messageBytes } = decodeTransaction(wire);
    const [own] = signatures;
    const [payer] = message.staticKeys;
    if (own !== undefined && payer !== undefined && base58Encode(own) === signature)
      if (verifySignature(payer, messageBytes, own)) return wire;
  } catch {
    throw new Malformed('bytes that are no transaction');
  }
  throw new Malformed('a transaction that does not have the signature');
}

const seconds = (value: JsonValue | undefined): number | null =>
  value === undefined || value === null ? null : count(value, 'a time') * MS_PER_SECOND;

const amount = (value: JsonValue | undefined, name: string): bigint =>
  value === undefined || value === null ? 0n : u64(value, name);

/** `getTransaction`. */
export const transactionQuestion = (signature: Signature): Question<FoundTransaction | null> => ({
  method: 'getTransaction',
  params: () => [
    signature,
    { encoding: 'base64', commitment: COMMITMENT, maxSupportedTransactionVersion: NEWEST_VERSION },
  ],
  read: (result) => {
    if (result === null) return null;
    const fields = object(result, 'a transaction');
    const meta: JsonObject = fields['meta'] == null ? {} : object(fields['meta'], 'a meta');
    const logs = meta['logMessages'] ?? [];
    const wire = signedBytes(fields['transaction'], signature);
    return {
      wire,
      blockTimeMs: seconds(fields['blockTime']) ?? 0,
      logs: list(logs, 'log lines').map((line) => text(line, 'a log line')),
      feeLamports: amount(meta['fee'], 'a fee'),
      computeUnits: amount(meta['computeUnitsConsumed'], 'a number of compute units'),
      tokenChanges: tokenChangesOf(meta, wire),
    };
  },
});

/** Signatures that a node returns at once (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
export const SIGNATURES_PER_PAGE = 1_000;

/** A past transaction, and whether it succeeded. */
export type PastEntry = PastTransaction & { readonly failed: boolean };

function pastEntry(value: JsonValue): PastEntry {
  const fields = object(value, 'a past transaction');
  const memo = fields['memo'] ?? null;
  return {
    signature: text(fields['signature'], 'a signature'),
    memo: memo === null ? null : text(memo, 'a memo'),
    blockTimeMs: seconds(fields['blockTime']),
    failed: readTransactionError(fields['err']) !== null,
  };
}

/** `getSignaturesForAddress`: one page, newest first. */
export const pastQuestion = (of: Address, before: Signature | undefined): Question<readonly PastEntry[]> => ({
  method: 'getSignaturesForAddress',
  params: () => [
    of,
    { commitment: COMMITMENT, limit: SIGNATURES_PER_PAGE, ...(before === undefined ? {} : { before }) },
  ],
  read: (result) => {
    const entries = list(result, 'past transactions').map(pastEntry);
    if (entries.length > SIGNATURES_PER_PAGE)
      throw new Malformed('more past transactions than were asked for');
    return entries;
  },
});
