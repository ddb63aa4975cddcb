/**
 * Runs one phase of a batch: its transactions, in bundles, through intent, submit and outcome, in order, resumable after the
 * last one that landed. What the transactions do is decided elsewhere.
 */
import type { TransactionRecord } from '../../chain/chain.js';
import type { BundleExecution } from '../../contract/schemas/batch.js';
import type { BundleRecord, BundleStatus, NewLanding } from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { isoTime } from '../../values/time.js';
import type { EngineDeps } from '../deps.js';
import { tellSettled, tellSigned } from '../events.js';
import { createPause } from '../pause.js';
import { awaitFates, type Failed, type Fate, findFates, type Landed } from '../settle/fate.js';
import { watchedLanding } from '../settle/landing.js';
import { settle } from '../settle/settle.js';
import type { SigningTerms } from '../signing-terms.js';
import type { LandedBundle, PhaseFailure, PhaseInput, PhaseResult } from './phase.js';
import { type Step, signSteps, stepFrom, storedAs, termsFrom } from './phase-steps.js';

/**
 * Runs the transactions that have not run yet and stops at the first bundle that is refused.
 * @throws `ERR_UNAVAILABLE` when the chain does not tell what became of a bundle; running the phase again finds it.
 */
export async function runPhase(deps: EngineDeps, input: PhaseInput): Promise<PhaseResult> {
  const phase = new Phase(deps, input);
  await phase.resolveStored();
  if (input.isOver !== true) await phase.runRest();
  return phase.result();
}

interface Outcome {
  readonly bundle: BundleRecord;
  readonly landedMs?: number;
  /** What a fork may still take back. */
  readonly landing?: NewLanding;
  readonly status: BundleStatus;
  readonly errorMessage?: string;
  readonly failedTransaction?: number;
}

/** Bundles that are sent together, and those of them that no intent is stored of yet. */
interface Window {
  readonly window: readonly BundleRecord[];
  readonly fresh: readonly BundleRecord[];
}

class Phase {
  readonly #deps: EngineDeps;
  readonly #input: PhaseInput;
  /** Index within the phase after the last transaction. */
  readonly #end: number;
  readonly #landed: BundleExecution[] = [];
  readonly #ours = new Set<number>();
  readonly #foreign: number[] = [];
  /** Bundles that may still land, by the index of their first transaction. */
  readonly #pending = new Map<number, BundleRecord>();
  #next: number;
  #unsaved: Outcome[] = [];
  #unsavedFees = 0n;
  #failure: PhaseFailure | null = null;
  #begun = false;

  constructor(deps: EngineDeps, input: PhaseInput) {
    this.#deps = deps;
    this.#input = input;
    this.#next = input.offset ?? 0;
    this.#end = this.#next + input.transactions.length;
  }

  /** Takes over what an earlier run has stored: landed bundles, and pending ones that may have landed. */
  async resolveStored(): Promise<void> {
    const mine = [...this.#input.stored].sort((a, b) => a.first - b.first);
    const pending = mine.filter(({ status }) => status === 'PENDING');
    const fates = await findFates(this.#deps.chain, pending);
    for (const bundle of mine) {
      if (bundle.status === 'LANDED') this.#take(bundle);
      if (bundle.status === 'PENDING') this.#takeFound(bundle, fates[pending.indexOf(bundle)]);
    }
    await this.#passForeign();
  }

  #takeFound(bundle: BundleRecord, fate: Fate | undefined): void {
    if (fate?.kind === 'failed' && this.#mayHaveComeEarly(bundle)) {
      this.#unsavedFees += feesOf(fate.records);
      this.#unsaved.push({ bundle, status: 'EXPIRED' });
    } else if (fate?.kind === 'landed' || fate?.kind === 'failed') this.#takeEnd(bundle, fate);
    else if (fate?.kind === 'expired' || this.#input.isOver === true)
      this.#unsaved.push({ bundle, status: 'EXPIRED' });
    else if (this.#isMine(bundle)) this.#pending.set(bundle.first, bundle);
  }

  /** What a run that was cut off has sent ahead may have failed only for that: if it is still next, it is tried once more. */
  #mayHaveComeEarly({ transactions }: BundleRecord): boolean {
    const isWaitedFor = this.#deps.chain.pollMs !== null && transactions.length === 1;
    return isWaitedFor && this.#input.isOver !== true;
  }

  async runRest(): Promise<void> {
    while (this.#next < this.#end) {
      if (this.#failure !== null && !(await this.#passForeign())) return;
      const { signal, write } = this.#input.lease;
      if (signal?.aborted === true) await write((tx) => this.#settle(tx));
      signal?.throwIfAborted();
      await this.#runWindow();
      this.#input.lease.tellSteps?.({ done: this.#next, total: this.#end });
    }
  }

  result(): PhaseResult {
    return {
      landed: this.#landed,
      landedCount: this.#ours.size,
      next: this.#next,
      foreign: this.#foreign,
      failure: this.#failure,
      settle: (tx) => this.#settle(tx),
    };
  }

  /** Goes on from where the chain stands, when others have gone on meanwhile; what failed for that reason has not failed. */
  async #passForeign(): Promise<boolean> {
    const position = Math.min((await this.#input.position?.()) ?? this.#next, this.#end);
    if (position <= this.#next) return false;
    await this.#settlePassed(position);
    for (let index = this.#next; index < Math.min(position, this.#end); index += 1) {
      if (!this.#ours.has(index) && !this.#foreign.includes(index)) this.#foreign.push(index);
    }
    this.#next = position;
    this.#failure = null;
    return true;
  }

  /**
   * Of bundles that the chain has gone past, some have landed meanwhile; the others never will. Where the position is from a
   * state that is newer than what counts as landed, the one that has moved it is waited for: it may be one of these.
   */
  async #settlePassed(position: number): Promise<void> {
    const passed = [...this.#pending.values()].filter(({ first }) => first < position);
    const fates = await awaitFates(this.#deps.chain, passed, this.#input.lease);
    for (const [index, bundle] of passed.entries()) {
      const fate = fates[index];
      this.#pending.delete(bundle.first);
      if (fate?.kind === 'landed' || fate?.kind === 'failed') this.#takeEnd(bundle, fate);
      else this.#unsaved.push({ bundle, status: 'EXPIRED' });
    }
  }

  async #runWindow(): Promise<void> {
    const { lease } = this.#input;
    const { window, fresh } = await this.#nextWindow(
      await termsFrom(this.#deps.chain, this.#input, this.#next),
    );
    if (window.length === 0) return;
    await lease.write(async (tx) => {
      await this.#settle(tx);
      if (!this.#begun) await this.#input.before?.(tx);
      if (fresh.length > 0) await tx.bundles.insertMany(fresh);
    });
    tellSigned(this.#deps, this.#subject, fresh);
    this.#begun = true;
    for (const bundle of window) this.#pending.set(bundle.first, bundle);
    const settled = await settle(this.#deps.chain, {
      units: window,
      areNew: fresh.length === window.length,
      as: 'bundles',
      lease,
      renew: (expired, inVain) => this.#signAgain(expired, inVain),
    });
    tellSettled(this.#deps, this.#subject, settled);
    for (const { unit, end } of settled) this.#takeEnd(unit, end);
  }

  /** The bundles that are next, and those of them that are signed only now. */
  async #nextWindow(terms: SigningTerms): Promise<Window> {
    const steps: (BundleRecord | Step)[] = [];
    const pause = createPause();
    for (let index = this.#next; index < this.#end && steps.length < this.#deps.limits.bundlesPerCommit; ) {
      const waiting = this.#pending.get(index);
      const step = waiting ?? stepFrom(this.#input, index, terms, this.#deps.chain.bundleSize);
      if (this.#repeatsRefusal(step, steps.length === 0)) break;
      const twin = 'messages' in step ? storedAs(this.#input, step, 'PENDING') : undefined;
      steps.push(twin === undefined ? step : { ...twin, first: index });
      index += 'messages' in step ? step.messages.length : step.transactions.length;
      await pause();
    }
    const fresh = await signSteps(
      this.#deps,
      this.#input,
      steps.filter((step) => 'messages' in step),
      terms,
    );
    const known = steps.flatMap((step) => ('messages' in step ? [] : [step]));
    return { fresh, window: [...known, ...fresh].sort((a, b) => a.first - b.first) };
  }

  async #signAgain(
    expired: readonly BundleRecord[],
    inVain: readonly TransactionRecord[],
  ): Promise<readonly BundleRecord[]> {
    this.#unsavedFees += feesOf(inVain);
    const terms = await termsFrom(this.#deps.chain, this.#input, expired[0]?.first ?? this.#next);
    const steps = expired.map(({ first, transactions }) =>
      stepFrom(this.#input, first, terms, transactions.length),
    );
    const renewed = await signSteps(this.#deps, this.#input, steps, terms);
    for (const bundle of expired) this.#unsaved.push({ bundle, status: 'EXPIRED' });
    await this.#input.lease.write(async (tx) => {
      await this.#settle(tx);
      await tx.bundles.insertMany(renewed);
    });
    tellSigned(this.#deps, this.#subject, renewed);
    for (const bundle of renewed) this.#pending.set(bundle.first, bundle);
    return renewed;
  }

  /** The very message that an earlier run saw refused, with no block since, would be refused again. */
  #repeatsRefusal(step: BundleRecord | Step, isNext: boolean): boolean {
    const refused = 'messages' in step ? storedAs(this.#input, step, 'FAILED') : undefined;
    if (refused === undefined) return false;
    if (isNext)
      this.#failure = failureOf(refused, refused.failedTransaction ?? 0, refused.errorMessage ?? '');
    return true;
  }

  #takeEnd(bundle: BundleRecord, end: Landed | Failed): void {
    this.#unsavedFees += feesOf(end.records);
    if (end.kind === 'failed') {
      this.#fail(bundle, end);
    } else {
      const landing = watchedLanding(end);
      this.#unsaved.push({
        bundle,
        status: 'LANDED',
        // 0 where no node tells the time of the block.
        landedMs: end.records[0]?.blockTimeMs || this.#deps.store.latestMs(),
        ...(landing && { landing: { ...landing, bundleId: bundle.id } }),
      });
      this.#take(bundle);
    }
  }

  /** Of which events tell. */
  get #subject() {
    return { operationId: this.#input.batchId, phase: this.#input.phase };
  }

  #isMine({ first }: BundleRecord): boolean {
    return first >= (this.#input.offset ?? 0) && first < this.#end;
  }

  /** Counts a landed bundle; it may be one of the phase that another list of transactions was about. */
  #take(bundle: BundleRecord): void {
    this.#pending.delete(bundle.first);
    if (!this.#isMine(bundle)) return;
    const { first, transactions } = bundle;
    this.#landed.push({
      bundleId: bundle.bundleId,
      txHashes: bundle.transactions.map(({ signature }) => signature),
    });
    for (let index = first; index < first + transactions.length; index += 1) this.#ours.add(index);
    if (first === this.#next) this.#next += transactions.length;
  }

  #fail(bundle: BundleRecord, { at, reason }: Failed): void {
    this.#pending.delete(bundle.first);
    this.#unsaved.push({ bundle, status: 'FAILED', errorMessage: reason, failedTransaction: at });
    if (this.#isMine(bundle)) this.#failure = failureOf(bundle, at, reason);
  }

  /** Writes outcomes, under the lease: another that has taken the work over writes them itself. */
  async #settle(tx: StoreTransaction): Promise<void> {
    const landed: LandedBundle[] = [];
    for (const { bundle, landedMs, landing, ...outcome } of this.#unsaved) {
      if (landedMs === undefined) await tx.bundles.settle([bundle.id], outcome);
      else landed.push({ bundle, landedMs });
    }
    await this.#settleLanded(tx, landed);
    if (this.#unsavedFees > 0n) {
      await tx.batches.addCost(this.#input.batchId, {
        feeLamports: this.#unsavedFees,
        rentPaidLamports: 0n,
        rentReclaimedLamports: 0n,
      });
    }
    this.#unsaved = [];
    this.#unsavedFees = 0n;
  }

  async #settleLanded(tx: StoreTransaction, landed: readonly LandedBundle[]): Promise<void> {
    if (landed.length === 0) return;
    await tx.bundles.settle(
      landed.map(({ bundle }) => bundle.id),
      { status: 'LANDED' },
    );
    // Where a fork takes it back, its use is taken back from the day on which it counts.
    const [hold] = await tx.usage.holdsOf(this.#input.batchId);
    await tx.landings.add(
      this.#unsaved.flatMap(({ landing, landedMs = 0 }) => {
        if (landing === undefined) return [];
        const fromMs = hold === undefined ? 0 : Date.parse(hold.fromDay);
        return { ...landing, dateLanded: isoTime(Math.max(landedMs, fromMs)) };
      }),
    );
    await this.#input.landed?.(tx, landed);
  }
}

const feesOf = (records: readonly TransactionRecord[]): bigint =>
  records.reduce((sum, { feeLamports }) => sum + feeLamports, 0n);

function failureOf(bundle: BundleRecord, failedTransaction: number, reason: string): PhaseFailure {
  const at = bundle.first + failedTransaction;
  return {
    failedTransaction: at,
    firstTransaction: bundle.first,
    reason,
    message: `Transaction ${at} failed: ${reason}.`,
  };
}
