/**
 * The port to the store: repositories inside one transaction.
 *
 * A transaction is serialised with every other one that writes the same project, in this process and in others. Invariants are
 * constraints of the database: one record for (key, operation, idempotency value), signatures unique, caps never passed,
 * no status transition that the table in {@link BATCH_TRANSITIONS} does not name.
 */

import type { Usage } from '../actions/action.js';
import type { BatchCost } from '../contract/call.js';
import type { KeyedOperationId } from '../contract/operations.js';
import type { BatchStatus, ExecuteResult, InitResult } from '../contract/schemas/batch.js';
import type { Sha256 } from '../values/digest.js';
import type { UtcDay } from '../values/time.js';
import type { AuditRepository } from './audit-repository.js';
import type { BurnRepository } from './burn-repository.js';
import type { GapRepository, LineageRepository, SignatureRepository } from './gap-repository.js';
import type {
  ApiKeyRecord,
  BatchRecord,
  BundlePhase,
  BundleRecord,
  BundleStatus,
  FlywheelPlace,
  FlywheelRecord,
  IssuedVote,
  RequestRecord,
  TokenRecord,
} from './records.js';
import type { RowRepository } from './transfer/rows.js';
import type { LandingRepository, UnfinishedRepository } from './unfinished-repository.js';

/** Every move that a batch may make (service specification, section 3). */
export const BATCH_TRANSITIONS: readonly (readonly [BatchStatus, BatchStatus])[] = [
  ['AVAILABLE_TO_QUEUE', 'FINALIZED'],
  // Cancelled before its set-up was complete.
  ['AVAILABLE_TO_QUEUE', 'FAILED'],
  ['FINALIZED', 'EXECUTED'],
  ['FINALIZED', 'FAILED'],
  // Members have executed more of it since, or it is cancelled.
  ['FAILED', 'FAILED'],
  ['FAILED', 'EXECUTED'],
];

export interface TokenRepository {
  insert(token: TokenRecord): Promise<void>;
  get(id: string): Promise<TokenRecord | undefined>;
  list(): Promise<readonly TokenRecord[]>;
  byMint(mintAddress: string): Promise<TokenRecord | undefined>;
}

export interface FlywheelRepository {
  insert(flywheel: FlywheelRecord): Promise<void>;
  ofToken(tokenId: string): Promise<FlywheelRecord | undefined>;
  byName(name: string): Promise<FlywheelRecord | undefined>;
  /** Of the multisig's vault. */
  ofVault(multisig: string, vaultIndex: number): Promise<FlywheelRecord | undefined>;
  /** The first ones by their names, those without one last. */
  list(limit: number): Promise<readonly FlywheelRecord[]>;
  setPlace(id: string, place: FlywheelPlace): Promise<void>;
}

/** A key, and whose it is. */
export interface KeyWithProject {
  readonly key: ApiKeyRecord;
  readonly token: TokenRecord | undefined;
  readonly flywheel: FlywheelRecord | undefined;
}

export interface ApiKeyRepository {
  insert(key: ApiKeyRecord): Promise<void>;
  byHash(hash: Sha256): Promise<ApiKeyRecord | undefined>;
  /** The same with the project that it is for, as far as that is there. */
  withProject(hash: Sha256): Promise<KeyWithProject | undefined>;
  get(id: string): Promise<ApiKeyRecord | undefined>;
  ofToken(tokenId: string): Promise<readonly ApiKeyRecord[]>;
  /** The key that was made in its place and is not revoked; there is one at most. */
  successorOf(id: string): Promise<ApiKeyRecord | undefined>;
  /** The key is valid until then, whatever it was before. */
  expire(id: string, dateExpires: string): Promise<void>;
  revoke(id: string, dateRevoked: string): Promise<void>;
}

export interface RequestRepository {
  /** @throws `ERR_DUPLICATE_IDEMPOTENCY_KEY` when (token, operation, value) is taken. */
  insert(request: RequestRecord): Promise<void>;
  find(tokenId: string, operation: KeyedOperationId, value: string): Promise<RequestRecord | undefined>;
  get(id: string): Promise<RequestRecord | undefined>;
  /** Takes over a running request that is still held as it was read. @returns whether it was. */
  claim(
    from: Pick<RequestRecord, 'id' | 'instance' | 'leaseUntilMs'>,
    instance: string,
    leaseUntilMs: number,
  ): Promise<boolean>;
  /** Prolongs what this engine has. @returns whether it still had it: another, by whose clock it was over, may have taken it. */
  renew(id: string, instance: string, leaseUntilMs: number): Promise<boolean>;
  linkBatch(id: string, batchId: string): Promise<void>;
  complete(id: string, reply: string): Promise<void>;
  /** The same, by the engine that has it. @returns whether it still had it, see {@link RequestRepository.renew}. */
  completeHeld(id: string, instance: string, reply: string): Promise<boolean>;
  /** A failed request does not use its key up. */
  remove(id: string): Promise<void>;
  running(): Promise<readonly RequestRecord[]>;
  /**
   * Notes that the store was in use on a day. A day counts once, so a clock that jumps ahead ages nothing by more than one.
   * @returns how many days have been noted.
   */
  noteDay(day: UtcDay): Promise<number>;
  /**
   * Forgets answers that were given at least so many noted days ago; never a running request, nor one that burns still refer
   * to as pending.
   * @param atMost - so many of them.
   * @returns how many it were; fewer than asked for when none is left.
   */
  removeDone(olderThanDays: number, atMost: number): Promise<number>;
}

/** What is counted: each is what an action takes. */
export type UsageKind = Usage;

/** What is counted, and on which day. */
export interface UsageCounter {
  readonly tokenId: string;
  readonly day: UtcDay;
  readonly kind: UsageKind;
}

/** What of a batch may still land, and on which days it counts. */
export interface UsageHold {
  readonly batchId: string;
  readonly tokenId: string;
  readonly kind: UsageKind;
  /** Base units; a hold of nothing is none. */
  readonly amount: bigint;
  readonly fromDay: UtcDay;
  /** `null`: every day from then on. */
  readonly toDay: UtcDay | null;
}

/** What counts against the daily caps: what has landed on a day, and all that may still land on it. */
export interface UsageRepository {
  /**
   * Base units of a day: landed, pending burns of that day and of earlier ones, and the holds that cover it.
   * @param exceptBatch - whose holds are left out.
   */
  used(counter: UsageCounter, exceptBatch?: string): Promise<bigint>;
  /** The latest day on which anything has landed; no day before it is begun once more. */
  latestDay(tokenId: string): Promise<UtcDay | undefined>;
  addLanded(counter: UsageCounter, amount: bigint): Promise<void>;
  /** Sets the hold of this batch and kind, whatever it was. */
  setHold(hold: UsageHold): Promise<void>;
  holdsOf(batchId: string): Promise<readonly UsageHold[]>;
}

/** Which batches to list. */
export interface BatchFilter {
  readonly tokenId: string;
  readonly status?: BatchStatus | undefined;
  /** ISO times of creation, inclusive and exclusive. */
  readonly since?: string;
  readonly until?: string;
  /** Some transaction of its has this signature. */
  readonly txHash?: string | undefined;
  /** What its pipelines hold, each of these somewhere among them. */
  readonly holds?: PipelineFilter;
  /** Only batches older than the one with this ordinal. */
  readonly before?: number;
  readonly limit: number;
}

/** What some pipeline of a batch has. */
export interface PipelineFilter {
  /** Of the proof. */
  readonly type?: string | undefined;
  readonly proofHash?: string | undefined;
  /** Of an action of its. */
  readonly action?: string | undefined;
  readonly toAddress?: string | undefined;
}

/** A batch without its pipelines. */
export type ListedBatch = Omit<BatchRecord, 'pipelines'>;

/** A part of a list. */
export interface ListedBatches {
  readonly items: readonly ListedBatch[];
  /** What to give as `before` for those after them, `null` when there are none. */
  readonly next: number | null;
}

export interface BatchRepository {
  insert(batch: BatchRecord): Promise<void>;
  get(id: string): Promise<BatchRecord | undefined>;
  /** The newest batch of the token that is not final. */
  current(tokenId: string): Promise<BatchRecord | undefined>;
  /** Newest first. So that one call never takes long, only so many batches are looked at, and few where their pipelines are. */
  list(filter: BatchFilter): Promise<ListedBatches>;
  /** The id of the batch with an ordinal. */
  idAt(ordinal: number): Promise<string>;
  /** Its ordinal, if it is a batch of the token. */
  ordinalOf(tokenId: string, id: string): Promise<number | undefined>;
  /** Rent of all batches of the flywheel that are not closed. */
  openRentLamports(flywheelId: string): Promise<bigint>;
  /** Rent of those of them whose set-up is not complete, or was not at an ISO time. */
  unpaidRentLamports(flywheelId: string, since: string): Promise<bigint>;
  countByStatus(): Promise<Readonly<Record<BatchStatus, number>>>;
  setBatchIndex(id: string, batchIndex: bigint, dateUpdated: string): Promise<void>;
  setInitResult(id: string, initResult: InitResult, dateUpdated: string): Promise<void>;
  /** Does nothing for a transaction that was issued before: until the blockhash changes, the same vote is the same bytes. */
  addVote(vote: IssuedVote): Promise<void>;
  /** In the order in which they were issued. */
  votes(id: string): Promise<readonly IssuedVote[]>;
  setCancelled(id: string, dateCancelled: string): Promise<void>;
  setClosed(id: string, dateClosed: string): Promise<void>;
  /** @throws `ERR_INTERNAL` for a transition that is not in {@link BATCH_TRANSITIONS}. */
  transition(
    id: string,
    to: BatchStatus,
    result: { initResult?: InitResult; executeResult?: ExecuteResult },
    dateUpdated: string,
  ): Promise<void>;
  addCost(id: string, cost: BatchCost): Promise<void>;
  /** Takes the batch for execution; the engine decides whether the holder is dead. */
  claim(id: string, instance: string, leaseUntilMs: number): Promise<void>;
  /** Prolongs what this engine has. @returns whether it still had it, see {@link RequestRepository.renew}. */
  renew(id: string, instance: string, leaseUntilMs: number): Promise<boolean>;
  /** Lets go of the batch, if this engine still has it. @returns whether it had. */
  unclaim(id: string, instance: string): Promise<boolean>;
}

export interface BundleRepository {
  insertMany(bundles: readonly BundleRecord[]): Promise<void>;
  /**
   * In the order of phase and first transaction; expired ones are left out.
   * @param phases - only of these: a batch has up to thousands of signed transactions. @default all
   */
  ofBatch(batchId: string, phases?: readonly BundlePhase[]): Promise<readonly BundleRecord[]>;
  /** Writes how pending bundles ended, all of them alike. */
  settle(
    ids: readonly string[],
    outcome: { status: BundleStatus; errorMessage?: string; failedTransaction?: number },
  ): Promise<void>;
}

export interface StoreTransaction {
  /** The store's time when the transaction began, in milliseconds since the Unix epoch: the clock that counts for leases, days and dates. */
  readonly nowMs: number;
  /** Which copy of the data it is on: another one after the database was restarted, or replaced by an older copy. */
  readonly copy: string;
  /** Which line of history that copy is on: another one where it was restored, imported, or taken over by a standby. A restart stays on it. */
  readonly lineage: string;
  readonly tokens: TokenRepository;
  readonly flywheels: FlywheelRepository;
  readonly apiKeys: ApiKeyRepository;
  readonly requests: RequestRepository;
  readonly burns: BurnRepository;
  readonly usage: UsageRepository;
  readonly batches: BatchRepository;
  readonly bundles: BundleRepository;
  readonly landings: LandingRepository;
  readonly signatures: SignatureRepository;
  readonly lineages: LineageRepository;
  readonly unfinished: UnfinishedRepository;
  readonly audit: AuditRepository;
  readonly gaps: GapRepository;
  readonly rows: RowRepository;
  /** Has something done or said once what is written is committed; where it is rolled back, never. */
  whenCommitted(act: () => void): void;
}

/** What belongs to one project. */
export interface OfProject {
  /** `null`: rows of several, each taken by itself and only where nobody else has it. */
  readonly tokenId: string | null;
}

/** How far the store has come, and what it knows of its ledger. */
export interface StoreProgress {
  /** Hash of the ledger's first block, base58; `null` before they are bound to each other. */
  readonly genesis: string | null;
  /** Rises with every write to a store that lies beside a ledger; a database, which many write at once, counts none. */
  readonly revision: number;
  /** Names the newest block of the ledger that was known at some write; `''` where there is none. */
  readonly ledgerMark: string;
}

export interface Store {
  /** That of the last transaction of this process. */
  readonly copy: string;
  /** That of the last transaction of this process. */
  readonly lineage: string;
  /** What the store's clock says now at the latest, told without asking it; good for dates, and to judge whether something may be over. */
  latestMs(): number;
  progress(): Promise<StoreProgress>;
  /** Binds the store to a ledger, once. */
  bind(genesis: string): Promise<void>;
  /**
   * Runs `work` in one transaction that takes a write lock at its start; commits when it resolves, rolls back when it throws.
   * @param of - whose records are written; those of other projects may be written at the same time. Without it the transaction is
   * alone with the whole store.
   * @throws `ERR_STORE_UNAVAILABLE` when the store is locked too long, read-only, full or damaged; nothing has then changed.
   */
  transaction<Result>(work: (tx: StoreTransaction) => Promise<Result>, of?: OfProject): Promise<Result>;
  /** Reads a consistent state without the write lock. */
  read<Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}
