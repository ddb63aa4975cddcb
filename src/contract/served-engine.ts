/** Interface between an HTTP server and an engine: authentication, readiness, metrics, logging. */
import type { Call, Reply } from './call.js';
import type { OperationId } from './operations.js';
import type { BatchStatus } from './schemas/batch.js';
import type { AnswerOf } from './service.js';

interface AuthenticatedCall<Id extends OperationId> {
  readonly keyId: string;
  readonly project?: string;
  /** Called before the body is read. @throws `ERR_KEY_SCOPES_UNAUTHORIZED` when the key lacks the operation's scope. */
  requireScope(): void;
  perform(input: unknown, call: Call): Promise<Reply<AnswerOf<Id>>>;
}

export interface EngineState {
  readonly batches: Readonly<Record<BatchStatus, number>>;
  readonly unfinished: Readonly<Record<'burns' | 'set-up' | 'execution' | 'closing', number>>;
  /** Age of the oldest unfinished work; 0 for none. */
  readonly oldestSeconds: number;
  readonly gaps: number;
  /** `null` when the chain does not answer. */
  readonly wallets: readonly WalletState[] | null;
}

interface WalletState {
  readonly project: string;
  readonly wallet: 'operator' | 'burn wallet';
  readonly lamports: bigint;
}

export type Measured =
  | { readonly what: 'transaction'; readonly kind: 'read' | 'write'; readonly seconds: number }
  | { readonly what: 'chain'; readonly method: string; readonly seconds: number };

export interface ServedEngine {
  /**
   * Authenticates the caller before the rest of the call arrives, once per call.
   * @throws `ERR_UNAUTHORIZED`; the time taken reveals nothing about the key.
   */
  authenticate<Id extends OperationId>(
    operation: Id,
    call: Pick<Call, 'credential' | 'idempotencyKey'>,
  ): Promise<AuthenticatedCall<Id>>;
  /**
   * Whether store and chain answer, and at least one project can be written.
   * @throws `ERR_UNAVAILABLE`, `ERR_STORE_UNAVAILABLE` or `ERR_STORE_BEHIND`
   */
  ready(): Promise<void>;
  state(): Promise<EngineState>;
}

interface RateTake {
  readonly key: string;
  readonly intervalUs: number;
  readonly periodUs: number;
}

interface RateTaken {
  readonly allowed: boolean;
  /** Time until all points are available again, with this request counted if allowed; at most `periodUs`. */
  readonly wholeAfterUs: number;
}

export interface RateCounts {
  take(request: RateTake): RateTaken | Promise<RateTaken>;
}
