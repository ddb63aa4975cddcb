/**
 * The methods of a node that are used, and what is believed of their answers; all at the commitment `confirmed`.
 *
 * `Connection` of web3.js asks, but for `getTransaction`, whose bytes it does not take (`"transaction": ["AQ…", "base64"]` is
 * refused), `getBlock` and `simulateTransaction` without what is not needed, and `getHealth`, which it does not have.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Address } from '../../values/address.js';
import { base58Decode, base58Encode } from '../../values/base58.js';
import { sameBytes } from '../../values/bytes.js';
import type { JsonObject, JsonValue } from '../../values/canonical-json.js';
import { type AccountState, RENT_EPOCH_EXEMPT } from '../account.js';
import type {
  Commitment,
  PastTransaction,
  Rejection,
  Signature,
  TransactionError,
  TransactionRecord,
} from '../chain.js';
import { isSigned } from '../transaction/sign.js';
import { decodeTransaction } from '../transaction/wire.js';
import type { Question } from './ask.js';
import {
  addressText,
  balancesOf,
  base64Bytes,
  boolean,
  count,
  innerCallsOf,
  list,
  Malformed,
  object,
  readTransactionError,
  tableAddressesOf,
  text,
  tokenChangesOf,
  u64,
} from './read-json.js';

const COMMITMENT = 'confirmed';
const NEWEST_VERSION = 0;
const MS_PER_SECOND = 1_000;
const HASH_BYTES = 32;

/** A value, and the slot of the state that it is from. */
export interface InSlot<Value> {
  readonly slot: number;
  readonly value: Value;
}

const slotOf = ({ slot }: { readonly slot: number }): number => slot;

const from = (minContextSlot: number | undefined) => (minContextSlot === undefined ? {} : { minContextSlot });

/** What is read decides the type. */
const question = <Value>(asked: Question<Value>): Question<Value> => asked;

/** The `{ context, value }` in which most results come. */
function inSlot<Value>(result: JsonValue, read: (value: JsonValue | undefined) => Value): InSlot<Value> {
  const { context, value } = object(result, 'a result');
  return { value: read(value), slot: count(object(context, 'a context')['slot'], 'a slot') };
}

/** Rent epochs are of 64 bits, and some nodes write them as doubles; one this large can only mean exempt. */
const EXEMPT_FROM = 2n ** 63n;

function rentEpochOf(value: JsonValue | undefined): bigint {
  if (typeof value === 'number' && value >= Number(EXEMPT_FROM)) return RENT_EPOCH_EXEMPT;
  const epoch = u64(value, 'a rent epoch');
  return epoch < EXEMPT_FROM ? epoch : RENT_EPOCH_EXEMPT;
}

function account(value: JsonValue): AccountState | null {
  if (value === null) return null;
  const { data, owner, lamports, executable, space, rentEpoch } = object(value, 'an account');
  const bytes = base64Bytes(data, 'account data');
  if (space !== undefined && space !== bytes.length)
    throw new Malformed(`an account whose stated size is not that of its data, ${bytes.length} bytes`);
  return {
    lamports: u64(lamports, 'a balance'),
    owner: addressText(owner, 'an owner'),
    data: bytes,
    executable: boolean(executable, 'an executable flag'),
    rentEpoch: rentEpochOf(rentEpoch),
  };
}

/** The first of several that two nodes say differently. */
const listDifference =
  <Value>(differ: (left: Value | undefined, right: Value | undefined, at: number) => string | undefined) =>
  (left: InSlot<readonly Value[]>, right: InSlot<readonly Value[]>): string | undefined => {
    for (const at of left.value.keys()) {
      const what = differ(left.value[at], right.value[at], at);
      if (what !== undefined) return what;
    }
    return undefined;
  };

/** Which part of an account differs; when its rent is due next is bookkeeping of the node. */
function accountDifference(left: AccountState | null, right: AccountState | null): string | undefined {
  if (left === null || right === null) return left === right ? undefined : 'whether it exists';
  if (left.owner !== right.owner) return 'its owner';
  if (left.lamports !== right.lamports) return 'its balance';
  if (left.executable !== right.executable) return 'whether it is a program';
  return sameBytes(left.data, right.data) ? undefined : 'its data';
}

/** `getMultipleAccounts`, of at most a hundred. */
export const accountsQuestion = (addresses: readonly Address[], commitment: Commitment = COMMITMENT) =>
  question({
    method: 'getMultipleAccounts',
    ask: ({ connection, key }, slot) =>
      connection.getMultipleAccountsInfoAndContext(addresses.map(key), { commitment, ...from(slot) }),
    read: (result) =>
      inSlot(result, (value) => list(value, 'accounts', addresses.length).map((one) => account(one))),
    slotOf,
    differ: listDifference<AccountState | null>((left = null, right = null, at) => {
      const what = accountDifference(left, right);
      return what && `the account ${addresses[at]}: ${what}`;
    }),
  });

function hash(value: JsonValue | undefined, name: string): string {
  const digits = text(value, name);
  if (digits.length > 2 * HASH_BYTES || base58Decode(digits)?.length !== HASH_BYTES)
    throw new Malformed(`${name} that is not a hash`);
  return digits;
}

/** `getLatestBlockhash`. */
export const BLOCKHASH_QUESTION = question({
  method: 'getLatestBlockhash',
  ask: ({ connection }, slot) =>
    connection.getLatestBlockhashAndContext({ commitment: COMMITMENT, ...from(slot) }),
  read: (result) => {
    const { blockhash, lastValidBlockHeight } = object(object(result, 'a result')['value'], 'a blockhash');
    return {
      blockhash: hash(blockhash, 'a blockhash'),
      lastValidBlockHeight: BigInt(count(lastValidBlockHeight, 'a block height')),
    };
  },
});

/** `getGenesisHash`: which cluster it is. */
export const GENESIS_QUESTION = question({
  method: 'getGenesisHash',
  ask: ({ connection }) => connection.getGenesisHash(),
  read: (genesis) => hash(genesis, 'a genesis hash'),
});

/** `getMinimumBalanceForRentExemption`, of an account of so many bytes. */
export const rentQuestion = (sizeBytes: number) =>
  question({
    method: 'getMinimumBalanceForRentExemption',
    ask: ({ connection }) => connection.getMinimumBalanceForRentExemption(sizeBytes),
    read: (lamports) => BigInt(count(lamports, 'a balance')),
  });

/** `isBlockhashValid`. */
export const validityQuestion = (blockhash: string) =>
  question({
    method: 'isBlockhashValid',
    ask: ({ connection }, slot) =>
      connection.isBlockhashValid(blockhash, { commitment: COMMITMENT, ...from(slot) }),
    read: (result) => inSlot(result, (value) => boolean(value, 'a blockhash flag')),
    slotOf,
    differ: (left, right) =>
      left.value === right.value ? undefined : `whether the blockhash ${blockhash} is still good`,
  });

/** Where a signature has landed, and whether it failed there. */
export interface LandedStatus {
  readonly slot: number;
  readonly error: TransactionError | null;
  /** Can no fork take it back? */
  readonly isFinal: boolean;
}

/**
 * A processed transaction may still be dropped with its fork, so it has not landed; nor is it certain that it will not. On that
 * fork it has failed, or not.
 */
export type SeenStatus = LandedStatus | 'processed' | 'processed with an error' | null;

function seenStatus(status: JsonValue): SeenStatus {
  if (status === null) return null;
  const { slot, err, confirmationStatus } = object(status, 'a status');
  const error = readTransactionError(err);
  if (confirmationStatus !== 'confirmed' && confirmationStatus !== 'finalized')
    return error === null ? 'processed' : 'processed with an error';
  return { slot: count(slot, 'a slot'), error, isFinal: confirmationStatus === 'finalized' };
}

export const isLanded = (status: SeenStatus | undefined): status is LandedStatus =>
  status !== null && typeof status === 'object';

/** What only one of the nodes has run is not settled: it is asked for again, and until they agree it is not absent. */
export function sameStatus(left: SeenStatus | undefined, right: SeenStatus | undefined): boolean {
  if (!isLanded(left) || !isLanded(right)) return (left ?? null) === (right ?? null);
  return left.slot === right.slot && JSON.stringify(left.error) === JSON.stringify(right.error);
}

/** `getSignatureStatuses`, of at most 256, through all that the node remembers. The method itself takes no slot. */
export const statusesQuestion = (signatures: readonly Signature[]) =>
  question({
    method: 'getSignatureStatuses',
    ask: ({ connection }) =>
      connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true }),
    read: (result) => inSlot(result, (value) => list(value, 'statuses', signatures.length).map(seenStatus)),
    slotOf,
    differ: listDifference<SeenStatus>((left, right, at) =>
      sameStatus(left, right) ? undefined : `what became of the transaction ${signatures[at]}`,
    ),
  });

/** A landed transaction: its bytes, and what the node says of it. */
interface FoundTransaction extends Omit<TransactionRecord, 'signature' | 'slot' | 'error'> {
  readonly wire: Uint8Array;
}

/** The bytes are held to the signature that was asked for, and all signers to theirs: nobody else can have signed them. */
function signedBytes(value: JsonValue | undefined, signature: Signature): Uint8Array {
  const wire = base64Bytes(value, 'a transaction');
  try {
    const transaction = decodeTransaction(wire);
    const [own] = transaction.signatures;
    if (own !== undefined && base58Encode(own) === signature && isSigned(transaction)) return wire;
  } catch {
    throw new Malformed('bytes that are not a transaction');
  }
  throw new Malformed('a transaction that does not have the signature');
}

/** The last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799;

/** Seconds as milliseconds; `null` where the node does not say. */
function seconds(value: JsonValue | undefined): number | null {
  if (value === undefined || value === null) return null;
  const time = count(value, 'a time');
  if (time > MAX_SECONDS) throw new Malformed('a time after the year 9999');
  return time * MS_PER_SECOND;
}

const amount = (value: JsonValue | undefined, name: string): bigint =>
  value === undefined || value === null ? 0n : u64(value, name);

const logLines = (logs: JsonValue | undefined): readonly string[] =>
  list(logs ?? [], 'log lines').map((line) => text(line, 'a log line'));

/** `getTransaction`, by hand. */
export const transactionQuestion = (signature: Signature) =>
  question({
    method: 'getTransaction',
    ask: ({ request }) =>
      request([
        signature,
        { encoding: 'base64', commitment: COMMITMENT, maxSupportedTransactionVersion: NEWEST_VERSION },
      ]),
    read: (result): FoundTransaction | null => {
      if (result === null) return null;
      const fields = object(result, 'a transaction');
      const meta: JsonObject = fields['meta'] == null ? {} : object(fields['meta'], 'a meta');
      const wire = signedBytes(fields['transaction'], signature);
      return {
        wire,
        blockTimeMs: seconds(fields['blockTime']) ?? 0,
        logs: logLines(meta['logMessages']),
        feeLamports: amount(meta['fee'], 'a fee'),
        computeUnits: amount(meta['computeUnitsConsumed'], 'a number of compute units'),
        balances: balancesOf(meta),
        tokenChanges: tokenChangesOf(meta, wire),
        tableAddresses: tableAddressesOf(meta, wire),
        innerCalls: innerCallsOf(meta, wire),
      };
    },
    /** Nobody but the nodes tells what a transaction logged, called and moved; nor when, which some learn later than others. */
    differ: (left, right) => {
      if (left === null || right === null)
        return left === right ? undefined : `whether the transaction ${signature} is known`;
      const told = ({ blockTimeMs, computeUnits, ...rest }: FoundTransaction): object => rest;
      const times = new Set([left.blockTimeMs, right.blockTimeMs].filter((timeMs) => timeMs !== 0));
      return times.size < 2 && isDeepStrictEqual(told(left), told(right))
        ? undefined
        : `what the transaction ${signature} did`;
    },
  });

/** Signatures that a node returns at once (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
export const SIGNATURES_PER_PAGE = 1_000;

function pastEntry(value: JsonValue): PastTransaction {
  const { signature, slot, memo, blockTime, err } = object(value, 'a past transaction');
  return {
    signature: text(signature, 'a signature'),
    slot: count(slot, 'a slot'),
    memo: memo == null ? null : text(memo, 'a memo'),
    blockTimeMs: seconds(blockTime),
    failed: readTransactionError(err) !== null,
  };
}

/** `getSignaturesForAddress`: one page, newest first, of at most so many as are wanted. */
export const pastQuestion = (of: Address, before: Signature | undefined, wanted: number) => {
  const limit = Math.min(wanted, SIGNATURES_PER_PAGE);
  return question({
    method: 'getSignaturesForAddress',
    ask: ({ connection, key }, slot) =>
      connection.getSignaturesForAddress(
        key(of),
        { limit, ...(before === undefined ? {} : { before }), ...from(slot) },
        COMMITMENT,
      ),
    read: (result) => {
      const entries = list(result, 'past transactions');
      if (entries.length > limit) throw new Malformed('more past transactions than requested');
      return entries.map(pastEntry);
    },
  });
};

/** `getHealth`, by hand. */
export const HEALTH_QUESTION = question({
  method: 'getHealth',
  ask: ({ request }) => request([]),
  read: (health) => text(health, 'a health status'),
});

/** `getSlot`. */
export const SLOT_QUESTION = question({
  method: 'getSlot',
  ask: ({ connection }) => connection.getSlot(),
  read: (slot) => count(slot, 'a slot'),
});

/** `getVersion`. */
export const VERSION_QUESTION = question({
  method: 'getVersion',
  ask: ({ connection }) => connection.getVersion(),
  read: (version) => text(object(version, 'a version')['solana-core'], 'a version'),
});

/**
 * `sendTransaction`, passed on whatever the node makes of it: it was tried out, or must be sent. The node does not send it again
 * by itself, so that what was sent is known here.
 */
export const sendQuestion = (wire: Uint8Array) =>
  question({
    method: 'sendTransaction',
    ask: ({ connection }) => connection.sendRawTransaction(wire, { skipPreflight: true, maxRetries: 0 }),
    read: (signature) => text(signature, 'a signature'),
  });

/** The newest state that no fork can take back. */
export interface FinalizedState {
  /** Blocks so far; slots that were left out do not count. */
  readonly blockHeight: bigint;
  readonly slot: number;
}

/** `getEpochInfo`: height and slot of one state. */
export const FINALIZED_QUESTION: Question<FinalizedState> = question({
  method: 'getEpochInfo',
  ask: ({ connection }) => connection.getEpochInfo('finalized'),
  read: (result) => {
    const { blockHeight, absoluteSlot } = object(result, 'a state');
    return { blockHeight: BigInt(count(blockHeight, 'a block height')), slot: count(absoluteSlot, 'a slot') };
  },
  slotOf,
});

/** `getFirstAvailableBlock`: the slot from which on a node has kept what landed. */
export const FIRST_BLOCK_QUESTION = question({
  method: 'getFirstAvailableBlock',
  ask: ({ connection }) => connection.getFirstAvailableBlock(),
  read: (slot) => count(slot, 'a slot'),
});

/** `getBlockTime`: when the block of a slot was made; `null` where the node does not say. */
export const blockTimeQuestion = (slot: number) =>
  question({
    method: 'getBlockTime',
    isOptional: true,
    ask: ({ connection }) => connection.getBlockTime(slot),
    read: (time) => seconds(time),
  });

/** `getBlock`, by hand and without what is in it: its height; `null` where the node does not say, as of its oldest ones. */
export const blockHeightQuestion = (slot: number) =>
  question({
    method: 'getBlock',
    ask: ({ request }) =>
      request([
        slot,
        {
          commitment: COMMITMENT,
          transactionDetails: 'none',
          rewards: false,
          maxSupportedTransactionVersion: NEWEST_VERSION,
        },
      ]),
    read: (result): bigint | null => {
      if (result === null) return null;
      const { blockHeight } = object(result, 'a block');
      return blockHeight == null ? null : BigInt(count(blockHeight, 'a block height'));
    },
  });

/** What a trial of a transaction came to. */
interface Trial {
  /** Why it would be refused, or fail; `null` where it would not. */
  readonly refusal: Omit<Rejection, 'index'> | null;
  /** What it would use; `null` where the node does not say. */
  readonly computeUnits: number | null;
}

/**
 * `simulateTransaction`, by hand, of bytes without signatures, so that the node learns nothing that it could send: would it be
 * taken, and run, on the newest state?
 *
 * @param wire - with all signatures zero.
 */
export const trialQuestion = (wire: Uint8Array) =>
  question({
    method: 'simulateTransaction',
    ask: ({ request }, minContextSlot) =>
      request([
        Buffer.from(wire).toString('base64'),
        {
          encoding: 'base64',
          sigVerify: false,
          replaceRecentBlockhash: true,
          commitment: COMMITMENT,
          ...from(minContextSlot),
        },
      ]),
    read: (result): Trial => {
      const { err, logs, unitsConsumed } = object(object(result, 'a result')['value'], 'a trial');
      const computeUnits = unitsConsumed == null ? null : count(unitsConsumed, 'a number of compute units');
      const error = readTransactionError(err);
      return { refusal: error && { error, logs: logLines(logs) }, computeUnits };
    },
  });

/** Most accounts that fees are asked for at once (agave, `MAX_TX_ACCOUNT_LOCKS`). */
const MAX_FEE_ACCOUNTS = 128;
/** Blocks that a node tells the fees of, generously (agave, `MAX_NUM_RECENT_BLOCKS`). */
const MAX_FEE_BLOCKS = 1_000;

/**
 * `getRecentPrioritizationFees`: of each of the last blocks, the least that was paid for a compute unit, in micro-lamports, by
 * those who wrote one of the accounts.
 */
export const recentFeesQuestion = (written: readonly Address[]) =>
  question({
    method: 'getRecentPrioritizationFees',
    isOptional: true,
    ask: ({ connection, key }) =>
      connection.getRecentPrioritizationFees({
        lockedWritableAccounts: written.slice(0, MAX_FEE_ACCOUNTS).map(key),
      }),
    read: (result) => {
      const fees = list(result, 'fees');
      if (fees.length > MAX_FEE_BLOCKS) throw new Malformed('more fees than there are blocks');
      return fees.map((fee) => BigInt(count(object(fee, 'a fee')['prioritizationFee'], 'a fee')));
    },
  });
