/** Options and metadata of a call beside its input and output. */
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { Secret } from '../values/secret.js';
import type { BatchStatus, ExecuteResult } from './schemas/batch.js';
import type { BurnError, BurnResult } from './schemas/burn.js';

export type ElementOutcome =
  | ({ readonly index: number; readonly status: 'success' } & BurnResult)
  | ({ readonly index: number; readonly status: 'error' } & BurnError);

export type Waiting = WaitingForChain | WaitingForService;

interface WaitingForService {
  readonly status: BatchStatus | null;
}

export interface WaitingForChain {
  readonly transactions: number;
  readonly signature: string;
  readonly slot?: number;
  readonly isRun?: boolean;
}

export interface Steps {
  readonly done: number;
  readonly total: number;
}

export interface Call {
  readonly credential: Secret | null;
  /** 1 to 255 visible ASCII characters; a UUID for burn-batch. */
  readonly idempotencyKey?: string;
  readonly requestId?: string;
  /** Answer from a stored result or fail with `ERR_RATE_LIMIT_EXCEEDED`: the limit of fresh requests is used up. */
  readonly repeatOnly?: boolean;
  /** Aborting stops waiting, and stops before the next step. Submitted transactions may still land. */
  readonly signal?: AbortSignal;
  /**
   * Before each further try over the network: may it still be sent? Both a result and a throw end the call.
   * @returns why this is not known. @throws what was found
   */
  readonly beforeRetry?: () => Promise<FlywheelError | undefined>;
  readonly onOperation?: (operationId: string) => void;
  readonly onElement?: (outcome: ElementOutcome) => void;
  readonly onSteps?: (steps: Steps) => void;
  readonly onWaiting?: (waiting: Waiting) => void;
}

/** Cost of a batch so far: lamports spent minus lamports returned. */
export interface BatchCost {
  readonly operatorLamports: bigint;
  readonly vaultLamports: bigint;
}

export const costLamports = ({ operatorLamports, vaultLamports }: BatchCost): bigint =>
  operatorLamports + vaultLamports;

export interface ReplyMeta {
  /** Whether the answer is the stored answer of an earlier request with the same key; nothing was sent now. */
  readonly replayed: boolean;
  readonly requestId?: string;
  /** Clock of the service at the time of the answer, in ms since the Unix epoch, if known. */
  readonly serverTimeMs?: number;
  readonly cost?: BatchCost;
}

export interface Reply<Value> {
  readonly value: Value;
  readonly meta: ReplyMeta;
}

/** `failedTxMsg` of a cancelled batch, unless the batch failed before. */
export const CANCELLED = 'cancelled';

export const isCancelled = (batch: { readonly executeResult?: ExecuteResult | null | undefined }): boolean =>
  batch.executeResult?.failedTxMsg === CANCELLED;
