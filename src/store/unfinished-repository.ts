/** The port to what is not at its end: work that was begun, and landings that a fork may still take back. */
import type { NewLanding, RequestRecord, WatchedLanding } from './records.js';

/** Landings that are not final; what was taken back becomes an intent again, and the same work as ever carries it to its end. */
export interface LandingRepository {
  add(landings: readonly NewLanding[]): Promise<void>;
  /** All of them: burns, then bundles in the order in which they were signed. */
  waiting(): Promise<readonly WatchedLanding[]>;
  /** Stops watching these, of whichever project; one that somebody else has at this very time is left to the next to forget. */
  forget(landings: readonly WatchedLanding[]): Promise<void>;
  /** Stops watching. @returns whether it was still watched. */
  remove(landing: WatchedLanding): Promise<boolean>;
  /** The burn, which has to be watched, is pending again. */
  reopenBurn(sequence: number): Promise<void>;
  /** The bundle, which has to be watched, is pending again. */
  reopenBundle(id: string): Promise<void>;
  /** The request has no answer again, and nobody works on it; one that is forgotten stays so. */
  reopenRequest(id: string): Promise<void>;
  /** The batch, one of whose bundles has to be watched, has not come as far. */
  reopenBatch(id: string, to: 'AVAILABLE_TO_QUEUE' | 'FINALIZED', dateUpdated: string): Promise<void>;
  /** The accounts of the batch are not closed. */
  reopenClosed(id: string): Promise<void>;
}

/** Who takes, and what. */
export interface TakeTerms {
  readonly instance: string;
  readonly nowMs: number;
  readonly leaseUntilMs: number;
  /** Holders that are certain to be gone, whatever their leases say. */
  readonly gone: readonly string[];
  /** Ids of requests that are not taken. */
  readonly except: readonly string[];
  /** Of this project only. @default of any */
  readonly tokenId?: string | null;
}

/** A request that was just taken. */
export interface TakenRequest {
  readonly request: RequestRecord;
  /** Who held it until then. */
  readonly from: string;
}

/** Work that has not come to its end, in the order in which it was begun, whether or not somebody is at it: of one project, or of all. */
export interface UnfinishedRepository {
  /** Ids of requests that have pending burns. */
  burnRequests(tokenId?: string | null): Promise<readonly string[]>;
  /** Who holds running requests by a lease that is not over. */
  holders(nowMs: number): Promise<readonly string[]>;
  /**
   * Takes the oldest running request that has pending burns and that nobody holds, of whichever project; one that somebody else
   * is taking at this very time is passed over.
   */
  takeBurns(terms: TakeTerms): Promise<TakenRequest | undefined>;
  /** Ids of batches whose set-up was begun, and not stopped for a reason. */
  setUps(tokenId?: string | null): Promise<readonly string[]>;
  /** Ids of batches that the operator has approved, or set out to, and that nobody has begun to end. */
  executions(tokenId?: string | null): Promise<readonly string[]>;
  /** Is the batch one of {@link UnfinishedRepository.executions}? */
  isExecution(batchId: string): Promise<boolean>;
  /** Ids of executed batches that may have left something on chain. */
  closings(tokenId?: string | null): Promise<readonly string[]>;
}
