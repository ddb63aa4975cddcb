/** What a service has begun and not brought to its end, for those who hold its data directory; it is no part of its API. */
import type { KeyedOperationId } from './operations.js';

/** One request or batch whose transactions have no known end. */
export interface UnfinishedWork {
  /** Of the request for burns, or of the batch. */
  readonly id: string;
  /** What it was asked for by. */
  readonly operation: KeyedOperationId;
  /** Of the request, where it is known. */
  readonly idempotencyKey: string | null;
  /** Somebody is at it. */
  readonly running: boolean;
  readonly dateBegun: string;
  /** Of what was sent, or may have been, and is not known to have landed or to have failed. */
  readonly signatures: readonly string[];
}

/** Whose work is meant. */
export interface RecoveryScope {
  /** Of this token only. @default of every project of the store */
  readonly tokenId?: string | null;
}

export interface RecoveryTerms extends RecoveryScope {
  readonly signal?: AbortSignal;
  /** Hears why something stays unfinished for now. */
  readonly onProblem?: (what: string, error: unknown) => void;
}

export interface Recovery {
  unfinished(scope?: RecoveryScope): Promise<readonly UnfinishedWork[]>;
  /** Brings to its end what can be. */
  finish(terms: RecoveryTerms): Promise<void>;
}
