/** What a server asks of an engine: who calls, and for its log, its readiness and its metrics how things are. */
import type { Call, Reply } from './call.js';
import type { OperationId } from './operations.js';
import type { BatchStatus } from './schemas/batch.js';
import type { AnswerOf } from './service.js';

interface AuthenticatedCall<Id extends OperationId> {
  readonly keyId: string;
  readonly project?: string;
  /** Before the body is read. @throws `ERR_KEY_SCOPES_UNAUTHORIZED` unless the key is for such calls. */
  requireScope(): void;
  perform(input: unknown, call: Call): Promise<Reply<AnswerOf<Id>>>;
}

export interface EngineState {
  readonly batches: Readonly<Record<BatchStatus, number>>;
  readonly unfinished: Readonly<Record<'burns' | 'set-up' | 'execution' | 'closing', number>>;
  /** Of what is unfinished, how long ago the oldest was begun; 0 where nothing is. */
  readonly oldestSeconds: number;
  /** Projects with burns on chain of which nobody has a record. */
  readonly gaps: number;
  /** `null` where the chain does not answer. */
  readonly wallets: readonly WalletState[] | null;
}

export interface WalletState {
  /** Name of the project, or the symbol of its token. */
  readonly project: string;
  readonly wallet: 'operator' | 'burn wallet';
  readonly lamports: bigint;
}

export type Measured =
  | { readonly what: 'transaction'; readonly kind: 'read' | 'write'; readonly seconds: number }
  | { readonly what: 'chain'; readonly method: string; readonly seconds: number };

export interface ServedEngine {
  /**
   * Says who calls before anything else of a call has arrived; that is found out once.
   * @throws `ERR_UNAUTHORIZED`; how long it takes tells nothing about the key.
   */
  authenticate<Id extends OperationId>(
    operation: Id,
    call: Pick<Call, 'credential' | 'idempotencyKey'>,
  ): Promise<AuthenticatedCall<Id>>;
  /** Do store and chain answer, and may a project be written? @throws `ERR_UNAVAILABLE`, `ERR_STORE_UNAVAILABLE` or `ERR_STORE_BEHIND` */
  ready(): Promise<void>;
  state(): Promise<EngineState>;
}

interface RateTake {
  readonly key: string;
  /** Time in which one point comes back. */
  readonly intervalUs: number;
  /** Time in which all points come back. */
  readonly periodUs: number;
}

interface RateTaken {
  readonly allowed: boolean;
  /** How long from now all points will be there again, this request counted if it is allowed; at most the period. */
  readonly wholeAfterUs: number;
}

export interface RateCounts {
  take(request: RateTake): RateTaken | Promise<RateTaken>;
}
