/** The port to the burns of the store: the intent of each, its outcome, and what lists and reports ask. */
import type { UtcDay } from '../values/time.js';
import type { BurnIntent, BurnOutcome, BurnRecord, BurnStatus } from './records.js';

/** Which burns to list. */
export interface BurnFilter {
  readonly tokenId: string;
  readonly types?: readonly string[] | undefined;
  readonly status?: BurnStatus | undefined;
  readonly proofHash?: string | undefined;
  readonly txHash?: string | undefined;
  /** ISO times at which they were asked for, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  /** Only burns older than the one with this sequence number. */
  readonly before?: number;
  readonly limit: number;
}

/** Which burns to add up: those with sequence numbers from `from` up to `to`, which is not among them. */
export interface BurnSumsQuery extends Pick<BurnFilter, 'tokenId' | 'types'> {
  readonly from: number;
  readonly to: number;
  /** ISO times at which they came to their end, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
}

/** Burns of one type that came to the same end on one day. */
export interface BurnSum {
  readonly day: UtcDay;
  readonly type: string;
  /** Else they failed. */
  readonly isLanded: boolean;
  readonly count: number;
  /** Base units; those of many burns may be more than a u64. */
  readonly amount: bigint;
  readonly feeLamports: bigint;
}

/** Which burn it is: of which request, and the how many-th there, counted from 0. */
export type BurnPlace = Pick<BurnRecord, 'requestId' | 'index'>;

/** A burn without its bytes. */
export type ListedBurn = Omit<BurnRecord, 'transaction'>;

export interface BurnRepository {
  /** Reserves `count` sequence numbers; the first of them. */
  reserveSequences(count: number): Promise<number>;
  insertMany(burns: readonly BurnIntent[]): Promise<void>;
  /**
   * New signature for a pending burn whose signature `expired` is proven never to land.
   * @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` when the burn has another signature by now: somebody else carries it on.
   */
  resign(
    sequence: number,
    expired: string,
    signed: Pick<BurnIntent, 'signature' | 'transaction' | 'lastValidBlockHeight'>,
  ): Promise<void>;
  /** Only PENDING burns change; settling twice is refused by the database. */
  settleMany(outcomes: readonly BurnOutcome[]): Promise<void>;
  /** Drops the bytes of burns whose end is final; those of a landing that is watched go with its end. */
  dropTransactions(sequences: readonly number[]): Promise<void>;
  /** In the order of their index, `from` to `to` (exclusive). */
  ofRequest(requestId: string, from?: number, to?: number): Promise<readonly BurnRecord[]>;
  /** Exact sums; so that one call never takes long, of few thousand burns at a time. */
  sums(query: BurnSumsQuery): Promise<readonly BurnSum[]>;
  /** The last number that was given out, 0 when none was. */
  lastSequence(): Promise<number>;
  countPending(tokenId: string): Promise<number>;
  /**
   * Newest first. So that one call never takes long, only so many burns are looked at.
   * @returns `next`: what to give as `before` for those after them, `null` when there are none.
   */
  list(filter: BurnFilter): Promise<{ readonly items: readonly ListedBurn[]; readonly next: number | null }>;
  /** Of the burn with a sequence number. */
  placeOf(sequence: number): Promise<BurnPlace>;
  /** Its sequence number, if it is a burn of the token. */
  sequenceAt(tokenId: string, place: BurnPlace): Promise<number | undefined>;
}
