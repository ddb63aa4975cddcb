/** The methods of a node by which a transaction is sent, and by which it is known what became of it. */
import type { Rejection } from '../chain.js';
import type { Question } from './ask.js';
import { COMMITMENT, from, question, seconds } from './questions.js';
import { count, list, object, text } from './read-json.js';
import { readTransactionError } from './transaction-error.js';

/** How a transaction is handed to a node. */
export interface SendTerms {
  /** The node is not to try it out first: it was tried, or must be passed on whatever it makes of it. @default false */
  readonly skipPreflight?: boolean;
}

/** `sendTransaction`; the node does not send it again by itself, so that what was sent is known here. */
export const sendQuestion = (wire: Uint8Array, { skipPreflight = false }: SendTerms = {}) =>
  question({
    method: 'sendTransaction',
    ask: ({ connection }) =>
      connection.sendRawTransaction(wire, {
        ...(skipPreflight ? { skipPreflight } : { preflightCommitment: COMMITMENT }),
        maxRetries: 0,
      }),
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
    read: (result): Omit<Rejection, 'index'> | null => {
      const { err, logs } = object(object(result, 'a result')['value'], 'a trial');
      const error = readTransactionError(err);
      if (error === null) return null;
      return { error, logs: list(logs ?? [], 'log lines').map((line) => text(line, 'a log line')) };
    },
  });
