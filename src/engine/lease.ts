/**
 * Working on a request or a batch under a lease: it is prolonged by a timer for as long as the work goes on, and an engine that
 * has lost it, because its process stood still for longer than the lease, sends and signs nothing more.
 */
import type { Call, Steps, WaitingForChain } from '../contract/call.js';
import type { FlywheelError } from '../errors/flywheel-error.js';
import type { StoreTransaction } from '../store/store.js';
import { type EngineDeps, type Instances, LEASE_MS } from './deps.js';
import { tell } from './events.js';

/** Several times within a lease, so that one that fails is no loss. */
const RENEW_MS = LEASE_MS / 4;
/** A lease with less than this left is prolonged before anything is sent. */
const SHORT_MS = LEASE_MS / 2;

/** What is worked on. */
export interface Holding {
  /** Whose it is. */
  readonly tokenId: string;
  /** Of its records; no two in the store have the same. */
  readonly ids: readonly string[];
  /** Until when it was taken, by the store's clock; nothing that happened since is known. */
  readonly untilMs: number;
  /** Prolongs it in the store. @returns whether it is still this engine's. */
  readonly prolong: (tx: StoreTransaction, instance: string, untilMs: number) => Promise<boolean>;
  /** Gives it back in the store, if it is still this engine's, so that the next call that brings it carries on at once. */
  readonly giveUp: (tx: StoreTransaction, instance: string) => Promise<unknown>;
  /** It is another's by now. */
  readonly lost: () => FlywheelError;
}

/** What of a call matters for as long as its work goes on. */
export type Caller = Pick<Call, 'signal' | 'onWaiting' | 'onSteps'>;

/** The hold of one engine on what it works on, and who waits for that. */
export interface Lease {
  /** Of what is worked on, as events name it. */
  readonly id: string;
  /**
   * Prolongs the lease in the transaction that writes something for it.
   * @throws when another has taken over, which may be far ahead by its clock; nothing more may be written then.
   */
  readonly renew: (tx: StoreTransaction) => Promise<void>;
  /** Asked before anything is sent. @throws when another has taken over. */
  readonly check: () => Promise<void>;
  /** Aborting stops waiting; what was sent goes on, and its intent is stored. */
  readonly signal: AbortSignal | undefined;
  /** Says what is waited for. */
  readonly tell: (waiting: WaitingForChain) => void;
  /** Says how far it is, to who asked to hear of it. */
  readonly tellSteps?: (steps: Steps) => void;
}

/** What has a lease in the store. */
export interface Leased {
  readonly id: string;
  readonly instance: string | null;
  readonly leaseUntilMs: number;
}

/** What each engine of this process works on now. */
const heldHere = new WeakMap<Instances, Map<string, HeldLease>>();

/** Is this engine itself at it, whatever time it is? */
export const isHeldHere = ({ instances }: Pick<EngineDeps, 'instances'>, id: string): boolean =>
  heldHere.get(instances)?.has(id) === true;

/**
 * What each engine of this process has ended without being able to say so in the store, and until when it had it there. Only that
 * very lease is nobody's: one that was taken since ends at another moment ({@link leaseUntil}).
 */
const leftHere = new WeakMap<Instances, Map<string, number>>();

/** Is it this engine's by the store, and nobody at it? */
export const isLeftHere = (
  { instances }: Pick<EngineDeps, 'instances'>,
  { id, instance, leaseUntilMs }: Leased,
): boolean => instance === instances.id && leftHere.get(instances)?.get(id) === leaseUntilMs;

/** Until when this engine has what it takes now. */
export function leaseUntil(
  deps: Pick<EngineDeps, 'instances'>,
  { nowMs }: Pick<StoreTransaction, 'nowMs'>,
  held: Leased,
): number {
  const untilMs = nowMs + LEASE_MS;
  return isLeftHere(deps, held) ? Math.max(untilMs, held.leaseUntilMs + 1) : untilMs;
}

/** How many pieces of work this engine holds now. */
export const countHeld = (instances: Instances): number =>
  new Set(heldHere.get(instances)?.values() ?? []).size;

/** All that this engine is at. */
export const heldIds = ({ instances }: Pick<EngineDeps, 'instances'>): readonly string[] => [
  ...(heldHere.get(instances)?.keys() ?? []),
];

/** What this engine waits for with it, as far as that is known. */
export const waitingHere = (
  { instances }: Pick<EngineDeps, 'instances'>,
  id: string,
): WaitingForChain | undefined => heldHere.get(instances)?.get(id)?.waiting;

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

/** A lease that was just taken, for work that does not begin and end in one place. */
export const holdLease = (deps: EngineDeps, holding: Holding, caller: Caller): HeldLease =>
  new HeldLease(deps, holding, caller);

export class HeldLease implements Lease {
  readonly #deps: EngineDeps;
  readonly #holding: Holding;
  readonly #caller: Caller;
  readonly #timer: NodeJS.Timeout;
  waiting: WaitingForChain | undefined;
  /** What was taken on another line of history need not be this engine's here, nor be as it has left it. */
  readonly #lineage: string;
  #untilMs: number;
  #isLost = false;

  constructor(deps: EngineDeps, holding: Holding, caller: Caller) {
    this.#caller = caller;
    this.#deps = deps;
    this.#holding = holding;
    this.#lineage = deps.store.lineage;
    this.#untilMs = holding.untilMs;
    const held = heldHere.get(deps.instances) ?? new Map();
    const left = leftHere.get(deps.instances);
    for (const id of holding.ids) {
      held.set(id, this);
      left?.delete(id);
    }
    heldHere.set(deps.instances, held);
    this.#timer = setInterval(() => {
      // What cannot be prolonged now is looked at again before anything is sent.
      this.#prolong().catch(() => undefined);
    }, RENEW_MS).unref();
  }

  end(): void {
    clearInterval(this.#timer);
    const held = heldHere.get(this.#deps.instances);
    for (const id of this.#holding.ids) if (held?.get(id) === this) held.delete(id);
  }

  /** Gives back what is held, once nothing more is done for it; never fails. */
  async giveUp(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#isLost) return;
    const { store, instances } = this.#deps;
    try {
      await store.transaction((tx) => this.#holding.giveUp(tx, instances.id), this.#holding);
    } catch {
      // The store is out of reach or full: this engine knows better until then, any other until the lease has run out.
      const left = leftHere.get(instances) ?? new Map();
      for (const id of this.#holding.ids) left.set(id, this.#untilMs);
      leftHere.set(instances, left);
    }
  }

  readonly renew = async (tx: StoreTransaction): Promise<void> => {
    const untilMs = tx.nowMs + LEASE_MS;
    await this.renewBy(tx, () => this.#holding.prolong(tx, this.#deps.instances.id, untilMs));
    // Known to hold only once that is written.
    tx.whenCommitted(() => {
      this.#untilMs = untilMs;
    });
  };

  /**
   * {@link Lease.renew} by another write, which only whoever has it can do.
   * @param write - returns whether it was done.
   */
  async renewBy({ lineage }: StoreTransaction, write: () => Promise<boolean>): Promise<void> {
    if (lineage === this.#lineage && (await write())) return;
    this.#isLost = true;
    tell(this.#deps, { operationId: this.id, event: 'lease lost' });
    throw this.#holding.lost();
  }

  get id(): string {
    return this.#holding.ids[0] ?? '';
  }

  get signal(): AbortSignal | undefined {
    return this.#caller.signal;
  }

  readonly tell = (waiting: WaitingForChain): void => {
    this.waiting = waiting;
    this.#caller.onWaiting?.(waiting);
  };

  readonly tellSteps = (steps: Steps): void => this.#caller.onSteps?.(steps);

  readonly check = async (): Promise<void> => {
    if (this.#isLost) throw this.#holding.lost();
    if (this.#untilMs - this.#deps.store.latestMs() < SHORT_MS) await this.#prolong();
  };

  async isTaken(): Promise<boolean> {
    await this.check().catch(() => undefined);
    return this.#isLost;
  }

  #prolong(): Promise<void> {
    return this.#deps.store.transaction(this.renew, this.#holding);
  }
}
