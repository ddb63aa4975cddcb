/**
 * Working on a request or a batch under a lease: it is prolonged by a timer for as long as the work goes on, and whatever is
 * written for the work is written in a transaction that first prolongs the lease, or ends what it holds. So one that was taken over meanwhile, because its
 * process stood still for longer than the lease, writes nothing more.
 */
import { setTimeout } from 'node:timers/promises';
import type { Call, Steps, WaitingForChain } from '../contract/call.js';
import { type FlywheelError, invariant } from '../errors/flywheel-error.js';
import type { BatchHead, RequestRecord } from '../store/records.js';
import type { StoreTransaction } from '../store/store.js';
import type { EngineDeps } from './deps.js';
import { tell } from './events.js';

/** For how long work is believed to go on after its last sign of life: so long the next call may wait after a crash. */
export const LEASE_MS = 15_000;
/** Several times within a lease, so that one that fails is no loss. */
const RENEW_MS = LEASE_MS / 4;
/** A lease with less than this left is prolonged before anything is sent. */
const SHORT_MS = LEASE_MS / 2;

/** What was just taken, in one transaction: a request, a batch, or a batch with the request that asks for something about it. */
export interface Holding {
  readonly batch?: BatchHead;
  readonly request?: RequestRecord | null;
  readonly lost: () => FlywheelError;
}

/** Prolongs it in the store. @returns whether it is still held as it was taken. */
async function prolong(tx: StoreTransaction, { batch, request }: Holding, untilMs: number): Promise<boolean> {
  const isHeld = request != null && (await tx.requests.renew(request.id, holderOf(request), untilMs));
  // The request may have its answer before all work on the batch is done.
  return batch === undefined ? isHeld : tx.batches.renew(batch.id, holderOf(batch), untilMs);
}

/** Gives it back in the store, as far as it is still held as it was taken, so that the next call carries on at once. */
async function release(tx: StoreTransaction, { batch, request }: Holding): Promise<void> {
  if (batch !== undefined) await tx.batches.release(batch.id, holderOf(batch));
  const isOpen = request != null && (await tx.requests.release(request.id, holderOf(request)));
  // An execution that has no answer by now does not use its key up.
  if (isOpen && request.operation === 'executeBatch') await tx.requests.remove(request.id);
}

export type Caller = Pick<Call, 'signal' | 'onWaiting' | 'onSteps'>;

export type Lease = Pick<HeldLease, 'id' | 'write' | 'check' | 'pause' | 'signal' | 'tell' | 'tellSteps'>;

interface Leased {
  /** A name of its own for each time that it is taken; `null`: nobody. */
  readonly holder: string | null;
  readonly leaseUntilMs: number;
}

/** Is somebody at it? A lease that ends later than any that is taken now is from before the clock was set back. */
export const isWorkedOn = ({ nowMs }: Pick<StoreTransaction, 'nowMs'>, held: Leased): boolean =>
  held.holder !== null && held.leaseUntilMs > nowMs && held.leaseUntilMs <= nowMs + LEASE_MS;

export function holderOf({ holder }: Leased): string {
  invariant(holder !== null, 'What was just taken is held.');
  return holder;
}

export const newLease = (
  { ids, leases }: Pick<EngineDeps, 'ids' | 'leases'>,
  { nowMs }: Pick<StoreTransaction, 'nowMs'>,
): { readonly holder: string; readonly leaseUntilMs: number } => ({
  holder: `${leases.instance}/${ids.uuid()}`,
  leaseUntilMs: nowMs + LEASE_MS,
});

export class Leases {
  readonly instance: string;
  readonly held = new Set<HeldLease>();

  constructor(instance: string) {
    this.instance = instance;
  }

  /** What is waited for here with this work, as far as that is known. */
  waitingFor(id: string): WaitingForChain | undefined {
    return [...this.held].find((lease) => lease.isOf(id))?.waiting;
  }

  /** Nothing more is written by this engine: what it was at is the next one's at once. */
  async giveUp(): Promise<void> {
    await Promise.all([...this.held].map((lease) => lease.giveUp()));
  }
}

/**
 * Does the work that a lease was just taken for, in a transaction that is committed, and keeps the lease meanwhile. Where it fails
 * the lease is given up; where it does not, the work has to have ended what it was for, or to give the lease up.
 */
export async function underLease<Result>(
  deps: EngineDeps,
  holding: Holding,
  caller: Caller,
  work: (lease: HeldLease) => Promise<Result>,
): Promise<Result> {
  const lease = new HeldLease(deps, holding, caller);
  try {
    return await work(lease);
  } catch (error) {
    // What another has done meanwhile may look like a failure; that it has taken over is the reason.
    if (await lease.isTaken()) throw holding.lost();
    await lease.giveUp();
    throw error;
  } finally {
    lease.end();
  }
}

export class HeldLease {
  readonly #deps: EngineDeps;
  readonly #holding: Holding;
  readonly #caller: Caller;
  readonly #timer: NodeJS.Timeout;
  waiting: WaitingForChain | undefined;
  /** What was taken on another line of history need not be held here. */
  readonly #lineage: string;
  /** What the work is on, or the request that asks for it. */
  readonly #of: BatchHead | RequestRecord;
  #untilMs: number;
  #isLost = false;

  constructor(deps: EngineDeps, holding: Holding, caller: Caller) {
    this.#caller = caller;
    this.#deps = deps;
    this.#holding = holding;
    this.#lineage = deps.store.lineage;
    const of = holding.batch ?? holding.request;
    invariant(of != null, 'Work is on a batch or a request.');
    this.#of = of;
    this.#untilMs = of.leaseUntilMs;
    deps.leases.held.add(this);
    this.#timer = setInterval(() => {
      // What cannot be prolonged now is looked at again before anything is sent.
      this.#prolong().catch(() => undefined);
    }, RENEW_MS).unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#deps.leases.held.delete(this);
  }

  /** Gives back what is held, once nothing more is done for it; never fails: where the store is out of reach, the lease runs out. */
  async giveUp(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#isLost) return;
    await this.#deps.store.transaction((tx) => release(tx, this.#holding), this.#of).catch(() => undefined);
  }

  /**
   * Writes something for the work, in one transaction that first prolongs the lease.
   * @throws when another has taken over, which may be far ahead by its clock; nothing is written then.
   */
  readonly write = <Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result> =>
    this.#deps.store.transaction(async (tx) => {
      await this.#renew(tx);
      return work(tx);
    }, this.#of);

  /**
   * Writes the last of the work. Nothing is prolonged: what ends the work is itself written only while it is held.
   * @param work - says whether it was.
   * @throws as {@link HeldLease.write}
   */
  writeLast(work: (tx: StoreTransaction) => Promise<boolean>): Promise<void> {
    return this.#deps.store.transaction((tx) => this.#require(tx, () => work(tx)), this.#of);
  }

  async #renew(tx: StoreTransaction): Promise<void> {
    const untilMs = tx.nowMs + LEASE_MS;
    await this.#require(tx, () => prolong(tx, this.#holding, untilMs));
    // Known to hold only once that is written.
    tx.whenCommitted(() => {
      this.#untilMs = untilMs;
    });
  }

  /** @param isHeld - what is written, and whether it is still held as it was taken. */
  async #require(tx: StoreTransaction, isHeld: () => Promise<boolean>): Promise<void> {
    if (tx.lineage === this.#lineage && (await isHeld())) return;
    this.#isLost = true;
    tell(this.#deps, { operationId: this.id, event: 'lease lost' });
    throw this.#holding.lost();
  }

  get id(): string {
    return this.#of.id;
  }

  isOf(id: string): boolean {
    return this.#of.id === id || this.#holding.request?.id === id;
  }

  /** Aborting stops waiting; what was sent goes on, and its intent is stored. */
  get signal(): AbortSignal | undefined {
    return this.#caller.signal;
  }

  readonly tell = (waiting: WaitingForChain): void => {
    this.waiting = waiting;
    this.#caller.onWaiting?.(waiting);
  };

  readonly tellSteps = (steps: Steps): void => this.#caller.onSteps?.(steps);

  /** Asked before anything is sent. @throws when another has taken over. */
  readonly check = async (): Promise<void> => {
    if (this.#isLost) throw this.#holding.lost();
    if (this.#untilMs - this.#deps.store.latestMs() < SHORT_MS) await this.#prolong();
  };

  /** Waits before the next look. @throws at once when nobody waits any longer, and then when another has taken over. */
  readonly pause = async (ms: number): Promise<void> => {
    const { signal } = this;
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    signal?.throwIfAborted();
    await this.check();
  };

  async isTaken(): Promise<boolean> {
    await this.check().catch(() => undefined);
    return this.#isLost;
  }

  async #prolong(): Promise<void> {
    await this.write(async () => undefined);
  }
}
