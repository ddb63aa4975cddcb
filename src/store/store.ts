/**
 * The port to the store: repositories inside one transaction.
 *
 * A transaction is serialised with every other one that writes, in this process and in others. Invariants are
 * constraints of the database: one record for (key, operation, idempotency value), signatures unique, caps never passed,
 * no status transition that the table in {@link BATCH_TRANSITIONS} does not name.
 */
import type { BatchCost } from '../contract/call.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../contract/schemas/batch.js';
import type { Sha256 } from '../values/digest.js';
import type { UtcDay } from '../values/time.js';
import type {
  ApiKeyRecord,
  BatchRecord,
  BundleRecord,
  BundleStatus,
  BurnIntent,
  BurnOutcome,
  BurnRecord,
  FlywheelRecord,
  RequestOperation,
  RequestRecord,
  TokenRecord,
} from './records.js';

/** Every move that a batch may make (service specification, section 3). */
export const BATCH_TRANSITIONS: readonly (readonly [BatchStatus, BatchStatus])[] = [
  ['AVAILABLE_TO_QUEUE', 'FINALIZED'],
  ['FINALIZED', 'EXECUTED'],
  ['FINALIZED', 'FAILED'],
];

export interface TokenRepository {
  insert(token: TokenRecord): Promise<void>;
  get(id: string): Promise<TokenRecord | undefined>;
  list(): Promise<readonly TokenRecord[]>;
}

export interface FlywheelRepository {
  insert(flywheel: FlywheelRecord): Promise<void>;
  ofToken(tokenId: string): Promise<FlywheelRecord | undefined>;
}

export interface ApiKeyRepository {
  insert(key: ApiKeyRecord): Promise<void>;
  byHash(hash: Sha256): Promise<ApiKeyRecord | undefined>;
  get(id: string): Promise<ApiKeyRecord | undefined>;
  ofToken(tokenId: string): Promise<readonly ApiKeyRecord[]>;
  revoke(id: string, dateRevoked: string): Promise<void>;
}

export interface RequestRepository {
  /** @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` when (key, operation, value) is taken. */
  insert(request: RequestRecord): Promise<void>;
  find(keyId: string, operation: RequestOperation, value: string): Promise<RequestRecord | undefined>;
  get(id: string): Promise<RequestRecord | undefined>;
  /** Takes over a running request, or prolongs it. */
  claim(id: string, instance: string, leaseUntilMs: number): Promise<void>;
  linkBatch(id: string, batchId: string): Promise<void>;
  complete(id: string, reply: string): Promise<void>;
  /** A failed request does not use its key up. */
  remove(id: string): Promise<void>;
  running(): Promise<readonly RequestRecord[]>;
  /** Forgets answers older than the retention; never a running request, nor one that burns still refer to as pending. */
  removeDoneBefore(date: string): Promise<number>;
}

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
    signed: Pick<BurnRecord, 'signature' | 'transaction' | 'lastValidBlockHeight'>,
  ): Promise<void>;
  /** Only PENDING burns change; settling twice is refused by the database. */
  settleMany(outcomes: readonly BurnOutcome[]): Promise<void>;
  /** In the order of their index, `from` to `to` (exclusive). */
  ofRequest(requestId: string, from?: number, to?: number): Promise<readonly BurnRecord[]>;
}

export type UsageKind = 'burn' | 'airdrop';

export interface UsageRepository {
  /** Base units reserved or spent on the day. */
  used(tokenId: string, day: UtcDay, kind: UsageKind): Promise<bigint>;
  /**
   * Adds to the counter if it stays within the cap.
   * @returns false, and nothing changes, when it would pass `cap`; `null` is no cap.
   */
  reserve(usage: UsageChange & { readonly cap: bigint | null }): Promise<boolean>;
  /** Gives back what was reserved and did not happen. */
  release(usage: UsageChange): Promise<void>;
}

export interface UsageChange {
  readonly tokenId: string;
  readonly day: UtcDay;
  readonly kind: UsageKind;
  readonly amount: bigint;
}

export interface BatchRepository {
  insert(batch: BatchRecord): Promise<void>;
  get(id: string): Promise<BatchRecord | undefined>;
  /** The newest batch of the token that is not final. */
  current(tokenId: string): Promise<BatchRecord | undefined>;
  countByStatus(): Promise<Readonly<Record<BatchStatus, number>>>;
  setBatchIndex(id: string, batchIndex: bigint, dateUpdated: string): Promise<void>;
  setInitResult(id: string, initResult: InitResult, dateUpdated: string): Promise<void>;
  setApproval(
    id: string,
    approvalTx: string,
    lastValidBlockHeight: bigint,
    dateUpdated: string,
  ): Promise<void>;
  /** @throws `ERR_INTERNAL` for a transition that is not in {@link BATCH_TRANSITIONS}. */
  transition(
    id: string,
    to: BatchStatus,
    result: { initResult?: InitResult; executeResult?: ExecuteResult },
    dateUpdated: string,
  ): Promise<void>;
  addCost(id: string, cost: BatchCost): Promise<void>;
  /** Takes the batch for execution, or prolongs it; the engine decides whether the holder is dead. */
  claim(id: string, instance: string, leaseUntilMs: number): Promise<void>;
  unclaim(id: string): Promise<void>;
}

export interface BundleRepository {
  insertMany(bundles: readonly BundleRecord[]): Promise<void>;
  /** In the order of phase and ordinal; expired ones are left out. */
  ofBatch(batchId: string): Promise<readonly BundleRecord[]>;
  settle(
    id: string,
    outcome: { status: BundleStatus; errorMessage?: string; failedTransaction?: number },
  ): Promise<void>;
}

export interface StoreTransaction {
  readonly tokens: TokenRepository;
  readonly flywheels: FlywheelRepository;
  readonly apiKeys: ApiKeyRepository;
  readonly requests: RequestRepository;
  readonly burns: BurnRepository;
  readonly usage: UsageRepository;
  readonly batches: BatchRepository;
  readonly bundles: BundleRepository;
}

export interface Store {
  /**
   * Runs `work` in one transaction that takes the write lock at its start; commits when it resolves, rolls back when it throws.
   * @throws `ERR_STORE_UNAVAILABLE` when the store is locked too long, read-only, full or damaged; nothing has then changed.
   */
  transaction<Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result>;
  /** Reads a consistent state without the write lock. */
  read<Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}
