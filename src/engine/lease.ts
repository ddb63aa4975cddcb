/** Leases on requests and batches, renewed by a timer while the work goes on. */
import { setTimeout } from 'node:timers/promises';
import type { Call, Steps, WaitingForChain } from '../contract/call.js';
import { type FlywheelError, invariant } from '../errors/flywheel-error.js';
import type { BatchHead, RequestRecord } from '../store/records.js';
import type { StoreTransaction } from '../store/store.js';
import { type EngineDeps, tell } from './deps.js';

/** After a crash the next call may wait this long. */
export const LEASE_MS = 15_000;
const RENEW_MS = LEASE_MS / 4;
/** A lease with less time left is renewed before sending. */
const SHORT_MS = LEASE_MS / 2;

interface Holding {
  readonly batch?: BatchHead;
  readonly request?: RequestRecord | null;
  readonly lost: () => FlywheelError;
}

async function prolong(tx: StoreTransaction, { batch, request }: Holding, untilMs: number): Promise<boolean> {
  const isHeld = request != null && (await tx.requests.renew(request.id, holderOf(request), untilMs));
  return batch === undefined ? isHeld : tx.batches.renew(batch.id, holderOf(batch), untilMs);
}

async function release(tx: StoreTransaction, { batch, request }: Holding): Promise<void> {
  if (batch !== undefined) await tx.batches.release(batch.id, holderOf(batch));
  const isOpen = request != null && (await tx.requests.release(request.id, holderOf(request)));
  // An execution without an answer does not use up its key.
  if (isOpen && request.operation === 'executeBatch') await tx.requests.remove(request.id);
}

export type Caller = Pick<Call, 'signal' | 'onWaiting' | 'onSteps'>;

export type Lease = Pick<HeldLease, 'id' | 'write' | 'check' | 'pause' | 'signal' | 'tell' | 'tellSteps'>;

interface Leased {
  /** Unique per acquisition; `null`: free. */
  readonly holder: string | null;
  readonly leaseUntilMs: number;
}

/** A lease that ends later than a new one would is from before the clock was set back, and is ignored. */
export const isWorkedOn = ({ nowMs }: Pick<StoreTransaction, 'nowMs'>, held: Leased): boolean =>
  held.holder !== null && held.leaseUntilMs > nowMs && held.leaseUntilMs <= nowMs + LEASE_MS;

function holderOf({ holder }: Leased): string {
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
  readonly held = new Set<HeldLease>();

  constructor(readonly instance: string) {}

  waitingFor(id: string): WaitingForChain | undefined {
    return [...this.held].find((lease) => lease.isOf(id))?.waiting;
  }

  async giveUp(): Promise<void> {
    await Promise.all([...this.held].map((lease) => lease.giveUp()));
  }
}

/** Runs the work of a lease that is taken and committed, then releases the lease. */
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
    if (await lease.isTaken()) throw holding.lost();
    throw error;
  } finally {
    await lease.giveUp();
    lease.end();
  }
}

export class HeldLease {
  readonly #timer: NodeJS.Timeout;
  waiting: WaitingForChain | undefined;
  /** A lease taken on another lineage is invalid on this one. */
  readonly #lineage: string;
  readonly #of: BatchHead | RequestRecord;
  #untilMs: number;
  #isLost = false;

  constructor(
    private readonly deps: EngineDeps,
    private readonly holding: Holding,
    private readonly caller: Caller,
  ) {
    this.#lineage = deps.store.lineage;
    const of = holding.batch ?? holding.request;
    invariant(of != null, 'Work is on a batch or a request.');
    this.#of = of;
    this.#untilMs = of.leaseUntilMs;
    deps.leases.held.add(this);
    this.#timer = setInterval(() => {
      // A failed renewal is retried by `check` before sending.
      this.#prolong().catch(() => undefined);
    }, RENEW_MS).unref();
  }

  end(): void {
    clearInterval(this.#timer);
    this.deps.leases.held.delete(this);
  }

  /** Never fails: without the store the lease expires. */
  async giveUp(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#isLost) return;
    await this.deps.store.transaction((tx) => release(tx, this.holding), this.#of).catch(() => undefined);
  }

  /**
   * Fence: renews the lease, then writes, in one transaction, so that a process that stalled and lost its lease cannot write.
   * @throws when another engine has the lease; nothing is written then.
   */
  readonly write = <Result>(work: (tx: StoreTransaction) => Promise<Result>): Promise<Result> =>
    this.deps.store.transaction(async (tx) => {
      await this.#renew(tx);
      return work(tx);
    }, this.#of);

  async #renew(tx: StoreTransaction): Promise<void> {
    const untilMs = tx.nowMs + LEASE_MS;
    if (tx.lineage !== this.#lineage || !(await prolong(tx, this.holding, untilMs))) {
      this.#isLost = true;
      tell(this.deps, { operationId: this.id, event: 'lease lost' });
      throw this.holding.lost();
    }
    tx.whenCommitted(() => {
      this.#untilMs = untilMs;
    });
  }

  get id(): string {
    return this.#of.id;
  }

  isOf(id: string): boolean {
    return this.#of.id === id || this.holding.request?.id === id;
  }

  get signal(): AbortSignal | undefined {
    return this.caller.signal;
  }

  readonly tell = (waiting: WaitingForChain): void => {
    this.waiting = waiting;
    this.caller.onWaiting?.(waiting);
  };

  readonly tellSteps = (steps: Steps): void => this.caller.onSteps?.(steps);

  /** Runs before every send. @throws when another engine has the lease. */
  readonly check = async (): Promise<void> => {
    if (this.#isLost) throw this.holding.lost();
    if (this.#untilMs - this.deps.store.latestMs() < SHORT_MS) await this.#prolong();
  };

  /** @throws at once on abort; after the wait when another engine has the lease. */
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
