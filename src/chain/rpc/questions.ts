/**
 * The JSON-RPC methods in use, and how their answers are validated. All at commitment `confirmed`.
 *
 * `Connection` of web3.js sends most requests. Direct requests: `getTransaction`, because `Connection` refuses its base64 form
 * (`"transaction": ["AQ…", "base64"]`); `getBlock` and `simulateTransaction`, to omit unused parts; `getHealth`, which
 * `Connection` lacks.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { Address } from '../../values/address.js';
import { base58Encode, type ReadonlyBytes } from '../../values/bytes.js';
import { isJsonObject } from '../../values/canonical-json.js';
import { type AccountState, decodeClock } from '../account.js';
import type {
  Commitment,
  PastTransaction,
  Signature,
  TransactionError,
  TransactionRecord,
} from '../chain.js';
import { CLOCK_SYSVAR } from '../programs.js';
import { TRANSACTION_SIZE_LIMIT_BYTES } from '../transaction/message.js';
import { isSigned } from '../transaction/sign.js';
import { decodeTransaction, unsigned } from '../transaction/wire.js';
import type { Question } from './ask.js';
import {
  address,
  base64,
  count,
  hash,
  listOf,
  logLines,
  metaOf,
  timeMs,
  transactionError,
  u64,
} from './schemas.js';

const COMMITMENT = 'confirmed';
const NEWEST_VERSION = 0;

const from = (minContextSlot: number | undefined) => (minContextSlot === undefined ? {} : { minContextSlot });

const question = <Value>(asked: Question<Value>): Question<Value> => asked;

const account = z
  .object({
    lamports: u64,
    owner: address,
    data: base64,
    executable: z.boolean(),
    space: z.unknown().optional(),
  })
  .refine(({ data, space = data.length }) => space === data.length, 'its size is not that of its data')
  .transform(({ space: _, ...state }): AccountState => state);

/** Names the first item that differs. */
const firstDifference =
  <Value>(
    named: string,
    names: readonly string[],
    areSame: (left: Value, right: Value, name: string | undefined) => boolean,
  ) =>
  (left: readonly Value[], right: readonly Value[]): string | undefined => {
    const at = left.findIndex((one, index) => !areSame(one, right[index] as Value, names[index]));
    return at < 0 ? undefined : `${named} ${names[at]}`;
  };

/** As far as an honest node may be behind. */
const MAX_BETWEEN_CLOCKS = { slots: 150n, seconds: 60n } as const;

const isWithin = (most: bigint, left: bigint, right: bigint): boolean =>
  left <= right && right - left <= most;

/**
 * The clock changes in every slot, and two nodes rarely answer from the same one: the earlier time is used, so that no node alone
 * makes it later.
 */
function sameClock(left: AccountState | null, right: AccountState | null): boolean {
  const [one, other] = [decodeClock(left), decodeClock(right)];
  if (one === undefined || other === undefined || one.epoch !== other.epoch) return false;
  const { slots, seconds } = MAX_BETWEEN_CLOCKS;
  return isWithin(slots, one.slot, other.slot) && isWithin(seconds, one.unixTimestamp, other.unixTimestamp);
}

const sameState = (left: AccountState | null, right: AccountState | null, of: string | undefined): boolean =>
  isDeepStrictEqual(left, right) || (of === CLOCK_SYSVAR && sameClock(left, right));

/** `getMultipleAccounts`, at most 100 addresses. */
export const accounts = (addresses: readonly Address[], commitment: Commitment = COMMITMENT) =>
  question({
    method: 'getMultipleAccounts',
    ask: ({ connection, key }, slot) =>
      connection.getMultipleAccountsInfoAndContext(addresses.map(key), { commitment, ...from(slot) }),
    hasContext: true,
    result: listOf(account.nullable(), (length) => length === addresses.length),
    differ: firstDifference('the account', addresses, sameState),
  });

export const latestBlockhash = question({
  method: 'getLatestBlockhash',
  ask: ({ connection }, slot) =>
    connection.getLatestBlockhashAndContext({ commitment: COMMITMENT, ...from(slot) }),
  hasContext: true,
  result: z.object({ blockhash: hash, lastValidBlockHeight: count.transform(BigInt) }),
});

export const genesis = question({
  method: 'getGenesisHash',
  ask: ({ connection }) => connection.getGenesisHash(),
  result: hash,
  differ: (left, right) => (left === right ? undefined : 'the cluster to which they belong'),
});

/** `getMinimumBalanceForRentExemption` of an account without data. */
export const rent = question({
  method: 'getMinimumBalanceForRentExemption',
  ask: ({ connection }) => connection.getMinimumBalanceForRentExemption(0),
  result: count.transform(BigInt),
});

export const validity = (blockhash: string) =>
  question({
    method: 'isBlockhashValid',
    ask: ({ connection }, slot) =>
      connection.isBlockhashValid(blockhash, { commitment: COMMITMENT, ...from(slot) }),
    hasContext: true,
    result: z.boolean(),
    differ: (left, right) =>
      left === right ? undefined : `whether the blockhash ${blockhash} is still good`,
  });

export interface Status {
  /** A processed transaction has not landed, because its fork may be dropped, but it may still land. */
  readonly level: 'processed' | Commitment;
  readonly slot: number;
  readonly error: TransactionError | null;
}

const CONTRADICTION = 'it says both that it failed and that it did not';

const status = z
  .object({
    ...{ slot: count, err: transactionError, confirmationStatus: z.unknown().optional() },
    // The same as `err`, of earlier versions.
    status: z.unknown().optional(),
  })
  .refine(({ err, status }) => err !== null || !isJsonObject(status) || !('Err' in status), CONTRADICTION)
  .transform(({ slot, err, confirmationStatus }): Status => {
    const isLanded = confirmationStatus === 'confirmed' || confirmationStatus === 'finalized';
    return { level: isLanded ? confirmationStatus : 'processed', slot, error: err };
  });

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
export const statuses = (signatures: readonly Signature[]) =>
  question({
    method: 'getSignatureStatuses',
    ask: ({ connection }) =>
      connection.getSignatureStatuses([...signatures], { searchTransactionHistory: true }),
    hasContext: true,
    result: listOf(status.nullable(), (length) => length === signatures.length),
    differ: firstDifference('what became of the transaction', signatures, sameStatus),
  });

interface FoundTransaction extends Omit<TransactionRecord, 'signature' | 'slot' | 'error'> {
  readonly wire: Uint8Array;
  /** `undefined`: the node does not say. */
  readonly hasFailed: boolean | undefined;
}

/** Checks the bytes against the requested signature and verifies every signature, so a node cannot forge a transaction. */
function isSignedAs(signature: Signature, wire: Uint8Array): boolean {
  // Verifying a long message with many signatures takes seconds.
  if (wire.length > TRANSACTION_SIZE_LIMIT_BYTES) return false;
  try {
    const transaction = decodeTransaction(wire);
    const [own] = transaction.signatures;
    return own !== undefined && base58Encode(own) === signature && isSigned(transaction);
  } catch {
    return false;
  }
}

const amount = u64.nullish().transform((told) => told ?? 0n);

const foundTransaction = z.object({
  transaction: base64,
  blockTime: timeMs,
  meta: z
    .looseObject({ err: z.unknown(), fee: amount, computeUnitsConsumed: amount, logMessages: logLines })
    .nullish(),
});

export const transaction = (signature: Signature) =>
  question({
    method: 'getTransaction',
    ask: ({ request }) =>
      request([
        signature,
        { encoding: 'base64', commitment: COMMITMENT, maxSupportedTransactionVersion: NEWEST_VERSION },
      ]),
    result: foundTransaction
      .refine(({ transaction }) => isSignedAs(signature, transaction), 'not the transaction of the signature')
      .transform(({ transaction: wire, blockTime, meta }): FoundTransaction => {
        const {
          err,
          fee = 0n,
          computeUnitsConsumed = 0n,
          logMessages = [],
          ...told
        } = meta ?? { err: undefined };
        const hasFailed = err === undefined ? undefined : err !== null;
        const details = {
          hasFailed,
          logs: logMessages,
          feeLamports: fee,
          computeUnits: computeUnitsConsumed,
        };
        return { wire, blockTimeMs: blockTime ?? 0, ...details, ...metaOf(told, wire) };
      })
      .nullable(),
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

const MAX_SIGNATURE_LENGTH = 88;

const pastTransaction = z
  .object({
    signature: z.string().max(MAX_SIGNATURE_LENGTH),
    slot: count,
    memo: z.string().nullish(),
    blockTime: timeMs,
    err: transactionError,
  })
  .transform(({ memo = null, blockTime, err, ...rest }): Omit<PastTransaction, 'isAgreed'> => {
    const kept = memo !== null && memo.length <= TRANSACTION_SIZE_LIMIT_BYTES ? memo : null;
    return { ...rest, memo: kept, blockTimeMs: blockTime, failed: err !== null };
  });

/** `getSignaturesForAddress`: one page, newest first, at most `wanted` entries. */
export const past = (of: Address, before: Signature | undefined, wanted: number) => {
  const limit = Math.min(wanted, SIGNATURES_PER_PAGE);
  return question({
    method: 'getSignaturesForAddress',
    ask: ({ connection, key }, slot) =>
      connection.getSignaturesForAddress(
        key(of),
        { limit, ...(before === undefined ? {} : { before }), ...from(slot) },
        COMMITMENT,
      ),
    result: listOf(pastTransaction, (length) => length <= limit),
  });
};

export const health = question({
  method: 'getHealth',
  ask: ({ request }) => request([]),
  result: z.string(),
});

export const version = question({
  method: 'getVersion',
  ask: ({ connection }) => connection.getVersion(),
  result: z.object({ 'solana-core': z.string() }).transform((version) => version['solana-core']),
});

/**
 * `sendTransaction` without preflight: the transaction was simulated before, or must be sent in any case. `maxRetries: 0`
 * leaves all resends to this program.
 */
export const send = (wire: Uint8Array) =>
  question({
    method: 'sendTransaction',
    ask: ({ connection }) => connection.sendRawTransaction(wire, { skipPreflight: true, maxRetries: 0 }),
    result: z.string(),
  });

/**
 * `getEpochInfo`: height and slot of one state, no older than `sinceSlot`. The height is the number of blocks; skipped slots do not
 * count.
 */
export const finalized = (sinceSlot: number) =>
  question({
    method: 'getEpochInfo',
    ask: ({ connection }) =>
      connection.getEpochInfo({
        commitment: 'finalized',
        ...(sinceSlot > 0 && { minContextSlot: sinceSlot }),
      }),
    result: z
      .object({ blockHeight: count, absoluteSlot: count.min(sinceSlot) })
      .transform(({ blockHeight, absoluteSlot: slot }) => ({ blockHeight: BigInt(blockHeight), slot })),
  });

/** `getBlockTime` in ms; `null` where the node does not say. */
export const blockTime = (slot: number) =>
  question({
    method: 'getBlockTime',
    ask: ({ connection }) => connection.getBlockTime(slot),
    result: timeMs,
  });

/**
 * `getBlock`, sent directly and without transactions: the block height. `null` where the node does not say, as for its oldest
 * blocks.
 */
export const blockHeight = (slot: number) =>
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
    result: z
      .object({ blockHeight: count.nullish() })
      .nullable()
      .transform((block) => (block?.blockHeight == null ? null : BigInt(block.blockHeight))),
  });

/**
 * `simulateTransaction` on the newest state, sent directly: why the message would be refused or fail, `null` for success.
 * Without signatures the node learns nothing that it could send.
 */
export const trial = (message: ReadonlyBytes) =>
  question({
    method: 'simulateTransaction',
    ask: ({ request }, minContextSlot) =>
      request([
        Buffer.from(unsigned(message)).toString('base64'),
        {
          encoding: 'base64',
          sigVerify: false,
          replaceRecentBlockhash: true,
          commitment: COMMITMENT,
          ...from(minContextSlot),
        },
      ]),
    hasContext: true,
    result: z
      .object({ err: transactionError, logs: logLines, unitsConsumed: count.nullish() })
      .transform(({ err: error, logs, unitsConsumed: computeUnits = null }) => {
        return { refusal: error && { error, logs }, computeUnits };
      }),
  });

/** Accounts per request (agave, `MAX_TX_ACCOUNT_LOCKS`). */
const MAX_FEE_ACCOUNTS = 128;
/** Upper bound of blocks in an answer (agave, `MAX_NUM_RECENT_BLOCKS`, is lower). */
const MAX_FEE_BLOCKS = 1_000;

const recentFee = z.object({ prioritizationFee: count }).transform((fee) => BigInt(fee.prioritizationFee));

/**
 * `getRecentPrioritizationFees`: per recent block, the lowest price in micro-lamports per compute unit among transactions that
 * wrote one of the accounts.
 */
export const recentFees = (written: readonly Address[]) =>
  question({
    method: 'getRecentPrioritizationFees',
    ask: ({ connection, key }) =>
      connection.getRecentPrioritizationFees({
        lockedWritableAccounts: written.slice(0, MAX_FEE_ACCOUNTS).map(key),
      }),
    result: listOf(recentFee, (length) => length <= MAX_FEE_BLOCKS),
  });
