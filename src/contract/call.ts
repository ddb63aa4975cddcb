/** What goes along with an operation's input and output: who calls, under which key, and what came of the call. */
import type { Secret } from '../values/secret.js';
import type { BatchStatus, ExecuteResult } from './schemas/batch.js';
import type { BurnError, BurnResult } from './schemas/burn.js';

/** One element of a burn-batch that has its outcome; `index` counts from 0 in the order sent. */
export type ElementOutcome =
  | ({ readonly index: number; readonly status: 'success' } & BurnResult)
  | ({ readonly index: number; readonly status: 'error' } & BurnError);

/** What an operation waits for that takes its time: as its engine knows it, or, from further away, as its batch shows. */
export type Waiting = WaitingForChain | WaitingForService;

interface WaitingForService {
  readonly status: BatchStatus | null;
}

export interface WaitingForChain {
  readonly transactions: number;
  readonly signature: string;
  /** The slot of the chain that was looked at, where it says. */
  readonly slot?: number;
  /** That one has been run, and its block waits for confirmations. */
  readonly isRun?: boolean;
}

/** How far a batch is on chain: transactions that have come to their end, and all of the step that it is at. */
export interface Steps {
  readonly done: number;
  readonly total: number;
}

export interface Call {
  readonly credential: Secret | null;
  /** 1 to 255 visible ASCII characters; a UUID for burn-batch. */
  readonly idempotencyKey?: string;
  readonly requestId?: string;
  /** Answer from a stored result, or refuse with `ERR_RATE_LIMIT_EXCEEDED`: the limit of fresh requests is used up. */
  readonly repeatOnly?: boolean;
  /** Aborting stops waiting and stops before the next step; what was submitted goes on. */
  readonly signal?: AbortSignal;
  /** Hears under which id the service keeps the request, as soon as it does. */
  readonly onOperation?: (operationId: string) => void;
  /** Hears of each burn-batch element as soon as its outcome is stored. */
  readonly onElement?: (outcome: ElementOutcome) => void;
  /** Hears how many transactions of a batch have come to their end, as they do. */
  readonly onSteps?: (steps: Steps) => void;
  /** Hears what is waited for, each time it is looked for. */
  readonly onWaiting?: (waiting: Waiting) => void;
}

/** What a batch has cost so far: lamports that its transactions have taken, less what they have brought. */
export interface BatchCost {
  readonly operatorLamports: bigint;
  readonly vaultLamports: bigint;
}

export const costLamports = ({ operatorLamports, vaultLamports }: BatchCost): bigint =>
  operatorLamports + vaultLamports;

export interface ReplyMeta {
  /** The answer is that of an earlier request with the same key; nothing was done now. */
  readonly replayed: boolean;
  readonly requestId?: string;
  /** The service's clock when it answered, in milliseconds since the Unix epoch, where it tells. */
  readonly serverTimeMs?: number;
  readonly cost?: BatchCost;
}

export interface Reply<Value> {
  readonly value: Value;
  readonly meta: ReplyMeta;
}

/** What a batch that was cancelled says in `failedTxMsg`, unless it had failed before. */
export const CANCELLED = 'cancelled';

/** Did somebody end it, and nothing fail? */
export const isCancelled = (batch: { readonly executeResult?: ExecuteResult | null | undefined }): boolean =>
  batch.executeResult?.failedTxMsg === CANCELLED;
