/**
 * The JSON-RPC methods in use, and how their answers are validated. All at commitment `confirmed`.
 *
 * `Connection` of web3.js sends most requests. Direct requests: `getTransaction`, because `Connection` refuses its base64 form
 * (`"transaction": ["AQ…", "base64"]`); `getBlock` and `simulateTransaction`, to omit unused parts; `getHealth`, which
 * `Connection` lacks.
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
  base64Bytes,
  boolean,
  count,
  list,
  Malformed,
  metaOf,
  object,
  readTransactionError,
  text,
  u64,
} from './read-json.js';

const COMMITMENT = 'confirmed';
const NEWEST_VERSION = 0;
const MS_PER_SECOND = 1_000;
const HASH_BYTES = 32;

const from = (minContextSlot: number | undefined) => (minContextSlot === undefined ? {} : { minContextSlot });

const question = <Value>(asked: Question<Value>): Question<Value> => asked;

function account(value: JsonValue): AccountState | null {
  if (value === null) return null;
  const { data, owner, lamports, executable, space } = object(value, 'an account');
  const bytes = base64Bytes(data, 'account data');
  if (space !== undefined && space !== bytes.length)
    throw new Malformed(`an account whose stated size is not that of its data, ${bytes.length} bytes`);
  return {
    lamports: u64(lamports, 'a balance'),
    owner: addressText(owner, 'an owner'),
    data: bytes,
    executable: boolean(executable, 'an executable flag'),
    // Bookkeeping of the node. Every account is exempt from rent.
    rentEpoch: RENT_EPOCH_EXEMPT,
  };
}

const listDifference =
  <Value>(differ: (left: Value | undefined, right: Value | undefined, at: number) => string | undefined) =>
  (left: readonly Value[], right: readonly Value[]): string | undefined => {
    for (const at of left.keys()) {
      const what = differ(left[at], right[at], at);
      if (what !== undefined) return what;
    }
    return undefined;
  };

/** Part of an account that differs. */
function accountDifference(left: AccountState | null, right: AccountState | null): string | undefined {
  if (left === null || right === null) return left === right ? undefined : 'whether it exists';
  if (left.owner !== right.owner) return 'its owner';
  if (left.lamports !== right.lamports) return 'its balance';
  if (left.executable !== right.executable) return 'whether it is a program';
  return sameBytes(left.data, right.data) ? undefined : 'its data';
}

/** `getMultipleAccounts`, at most 100 addresses. */
export const accountsQuestion = (addresses: readonly Address[], commitment: Commitment = COMMITMENT) =>
  question({
    method: 'getMultipleAccounts',
    ask: ({ connection, key }, slot) =>
      connection.getMultipleAccountsInfoAndContext(addresses.map(key), { commitment, ...from(slot) }),
    hasContext: true,
    read: (value) => list(value, 'accounts', addresses.length).map(account),
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

export const BLOCKHASH_QUESTION = question({
  method: 'getLatestBlockhash',
  ask: ({ connection }, slot) =>
    connection.getLatestBlockhashAndContext({ commitment: COMMITMENT, ...from(slot) }),
  hasContext: true,
  read: (value) => {
    const { blockhash, lastValidBlockHeight } = object(value, 'a blockhash');
    return {
      blockhash: hash(blockhash, 'a blockhash'),
      lastValidBlockHeight: BigInt(count(lastValidBlockHeight, 'a block height')),
    };
  },
});

export const GENESIS_QUESTION = question({
  method: 'getGenesisHash',
  ask: ({ connection }) => connection.getGenesisHash(),
  read: (genesis) => hash(genesis, 'a genesis hash'),
});

/** `getMinimumBalanceForRentExemption` of an account without data. */
export const RENT_QUESTION = question({
  method: 'getMinimumBalanceForRentExemption',
  ask: ({ connection }) => connection.getMinimumBalanceForRentExemption(0),
  read: (lamports) => BigInt(count(lamports, 'a balance')),
});

export const validityQuestion = (blockhash: string) =>
  question({
    method: 'isBlockhashValid',
    ask: ({ connection }, slot) =>
      connection.isBlockhashValid(blockhash, { commitment: COMMITMENT, ...from(slot) }),
    hasContext: true,
    read: (value) => boolean(value, 'a blockhash flag'),
    differ: (left, right) =>
      left === right ? undefined : `whether the blockhash ${blockhash} is still good`,
  });

export interface Status {
  /** A processed transaction has not landed, because its fork may be dropped, but it may still land. */
  readonly level: 'processed' | Commitment;
  readonly slot: number;
  readonly error: TransactionError | null;
}

function readStatus(status: JsonValue): Status | null {
  if (status === null) return null;
  const { slot, err, confirmationStatus } = object(status, 'a status');
  const isLanded = confirmationStatus === 'confirmed' || confirmationStatus === 'finalized';
  const level = isLanded ? confirmationStatus : 'processed';
  return { level, slot: count(slot, 'a slot'), error: readTransactionError(err) };
}

export const hasLanded = (status: Status | null | undefined): status is Status =>
  status != null && status.level !== 'processed';

/**
 * If only one of two nodes has run the transaction, they differ: the question is repeated, and the transaction is not absent
 * until they agree.
 */
export function sameStatus(left: Status | null, right: Status | null): boolean {
  if (!hasLanded(left) || !hasLanded(right)) return left?.level === right?.level;
  return left.slot === right.slot && isDeepStrictEqual(left.error, right.error);
}

/**
 * `getSignatureStatuses`, at most 256 signatures, searching the whole history of the node. The method has no `minContextSlot`.
 */
export const statusesQuestion = (signatures: readonly Signature[]) =>
  question({
    method: 'getSignatureStatuses',
    ask: ({ connection }) =>
      connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true }),
    hasContext: true,
    read: (value) => list(value, 'statuses', signatures.length).map(readStatus),
    differ: listDifference<Status | null>((left = null, right = null, at) =>
      sameStatus(left, right) ? undefined : `what became of the transaction ${signatures[at]}`,
    ),
  });

interface FoundTransaction extends Omit<TransactionRecord, 'signature' | 'slot' | 'error'> {
  readonly wire: Uint8Array;
}

/** Checks the bytes against the requested signature and verifies every signature, so a node cannot forge a transaction. */
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

const MAX_SECONDS = 253_402_300_799;

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
        ...metaOf(meta, wire),
      };
    },
    /**
     * Logs, inner calls and balances come from the nodes alone, so they must agree. Block times may differ if one is missing:
     * some nodes learn the time later.
     */
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

/** Page size of a node (agave, `MAX_GET_CONFIRMED_SIGNATURES_FOR_ADDRESS2_LIMIT`). */
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

/** `getSignaturesForAddress`: one page, newest first, at most `wanted` entries. */
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

export const HEALTH_QUESTION = question({
  method: 'getHealth',
  ask: ({ request }) => request([]),
  read: (health) => text(health, 'a health status'),
});

export const VERSION_QUESTION = question({
  method: 'getVersion',
  ask: ({ connection }) => connection.getVersion(),
  read: (version) => text(object(version, 'a version')['solana-core'], 'a version'),
});

/**
 * `sendTransaction` without preflight: the transaction was simulated before, or must be sent in any case. `maxRetries: 0`
 * leaves all resends to this program.
 */
export const sendQuestion = (wire: Uint8Array) =>
  question({
    method: 'sendTransaction',
    ask: ({ connection }) => connection.sendRawTransaction(wire, { skipPreflight: true, maxRetries: 0 }),
    read: (signature) => text(signature, 'a signature'),
  });

export interface FinalizedState {
  /** Number of blocks; skipped slots do not count. */
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
});

/** `getFirstAvailableBlock`: first slot whose transactions the node stores. */
export const FIRST_BLOCK_QUESTION = question({
  method: 'getFirstAvailableBlock',
  ask: ({ connection }) => connection.getFirstAvailableBlock(),
  read: (slot) => count(slot, 'a slot'),
});

/** `getBlockTime` in ms; `null` where the node does not say. */
export const blockTimeQuestion = (slot: number) =>
  question({
    method: 'getBlockTime',
    ask: ({ connection }) => connection.getBlockTime(slot),
    read: (time) => seconds(time),
  });

/**
 * `getBlock`, sent directly and without transactions: the block height. `null` where the node does not say, as for its oldest
 * blocks.
 */
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

interface Trial {
  /** Why the transaction would be refused or fail; `null` for success. */
  readonly refusal: Omit<Rejection, 'index'> | null;
  readonly computeUnits: number | null;
}

/**
 * `simulateTransaction` on the newest state, sent directly. Without signatures the node learns nothing that it could send.
 *
 * @param wire - all signatures zero.
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
    hasContext: true,
    read: (value): Trial => {
      const { err, logs, unitsConsumed } = object(value, 'a trial');
      const computeUnits = unitsConsumed == null ? null : count(unitsConsumed, 'a number of compute units');
      const error = readTransactionError(err);
      return { refusal: error && { error, logs: logLines(logs) }, computeUnits };
    },
  });

/** Accounts per request (agave, `MAX_TX_ACCOUNT_LOCKS`). */
const MAX_FEE_ACCOUNTS = 128;
/** Upper bound of blocks in an answer (agave, `MAX_NUM_RECENT_BLOCKS`, is lower). */
const MAX_FEE_BLOCKS = 1_000;

/**
 * `getRecentPrioritizationFees`: per recent block, the lowest price in micro-lamports per compute unit among transactions that
 * wrote one of the accounts.
 */
export const recentFeesQuestion = (written: readonly Address[]) =>
  question({
    method: 'getRecentPrioritizationFees',
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
