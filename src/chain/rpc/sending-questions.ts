/** The methods of a node by which a transaction is sent, and by which it is known what became of it. */
import type { Address } from '../../values/address.js';
import type { Rejection } from '../chain.js';
import type { Question } from './ask.js';
import { COMMITMENT, from, question, seconds } from './questions.js';
import { count, list, Malformed, object, text } from './read-json.js';
import { readTransactionError } from './transaction-error.js';

/**
 * `sendTransaction`, passed on whatever the node makes of it: it was tried out, or must be sent. The node does not send it again
 * by itself, so that what was sent is known here.
 */
export const sendQuestion = (wire: Uint8Array) =>
  question({
    method: 'sendTransaction',
    ask: ({ connection }) => connection.sendRawTransaction(wire, { skipPreflight: true, maxRetries: 0 }),
    read: (signature) => signature,
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
  read: ({ blockHeight, absoluteSlot }) => ({
    blockHeight: BigInt(count(blockHeight, 'a block height')),
    slot: count(absoluteSlot, 'a slot'),
  }),
  slotOf: ({ slot }) => slot,
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
          maxSupportedTransactionVersion: 0,
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
      if (error === null) return { refusal: null, computeUnits };
      const lines = list(logs ?? [], 'log lines').map((line) => text(line, 'a log line'));
      return { refusal: { error, logs: lines }, computeUnits };
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
    check: (result) => {
      if (list(result, 'fees').length > MAX_FEE_BLOCKS)
        throw new Malformed('more fees than there are blocks');
    },
    read: (fees) => fees.map(({ prioritizationFee }) => BigInt(count(prioritizationFee, 'a fee'))),
  });
