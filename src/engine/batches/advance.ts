/**
 * Drives a batch towards a goal by what the chain says of it: the transactions that are next are signed and written down, sent and
 * waited for, and then the chain is asked again, until nothing is next. The program takes every step once and in its turn
 * (squads-v4.md, section 7), so that what is sent twice acts once; what it has cost is counted all the same.
 *
 * What became of a transaction is written only when no fork can take that back, and so is every end of a batch.
 */
import { isDeepStrictEqual } from 'node:util';
import { bundleSizeOf, type Commitment, type Rejection } from '../../chain/chain.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import type { BundleExecution } from '../../contract/schemas/batch.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type {
  BatchRecord,
  BundlePhase,
  BundleRecord,
  BundleStatus,
  BundleTransaction,
  TransactionCost,
} from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { sha256 } from '../../values/digest.js';
import { countLanded, landedMs } from '../caps.js';
import type { EngineDeps } from '../deps.js';
import { tellSettled, tellSigned } from '../events.js';
import type { Lease } from '../lease.js';
import { createPause } from '../pause.js';
import { awaitFates, type Fate, findFates, isExpiry, maybeSent, refused, tellWaiting } from '../settle.js';
import { signingTerms, withBudget } from '../signing-terms.js';
import type { BatchContext } from './batch-context.js';
import { costOf } from './costs.js';
import { type BatchState, pastOf, type ReadPast } from './on-chain.js';

export interface NextSteps {
  readonly phase: BundlePhase;
  /** Index within the phase of the first of them, and the one after the last. */
  readonly first: number;
  readonly end: number;
  readonly instructions: (index: number) => readonly Instruction[];
  readonly before?: (tx: StoreTransaction) => Promise<void>;
}

type Stop = { readonly stop: string };

/** `again`: something was done, and the chain decides anew. `wait`: it is for somebody else to go on. */
export type Next = NextSteps | Stop | 'again' | 'wait';

export interface Goal<State extends BatchState> {
  readonly read: (commitment?: Commitment) => Promise<State>;
  readonly isReached: (state: State) => boolean;
  readonly next: (state: State) => Promise<Next>;
}

export interface Failure {
  readonly message: string;
  readonly failedTransaction?: number;
  readonly firstTransaction?: number;
}

/** Where it ended, in a state that no fork can take back. */
export interface End<State> {
  readonly state: State;
  readonly failure: Failure | null;
}

export interface HeldBatch {
  readonly deps: EngineDeps;
  readonly context: BatchContext;
  readonly batch: BatchRecord;
  readonly lease: Lease;
}

/** Bundles that are on their way at most where each takes its time: what a fork can take away at once. */
const MAX_AHEAD = 6;
/** What others are to follow is looked at this many times as often as where nothing waits for it, and so many times. */
const LOOKS_A_POLL = 2;
const MAX_LOOKS = 20;
/** Rounds in which nothing comes to an end before it is left to the next run. */
const MAX_IDLE_ROUNDS = 20;
/** For how long an end waits to become final. */
const MAX_WAIT_MS = 120_000;

const keyOf = ({ phase, first }: Pick<BundleRecord, 'phase' | 'first'>): string => `${phase} ${first}`;

/** What is known of a bundle: `confirmed` has landed where a fork may still take it back. */
type State = 'open' | 'confirmed' | 'landed' | 'failed';
const ALL: readonly State[] = ['open', 'confirmed', 'landed', 'failed'];
const OPEN: readonly State[] = ['open', 'confirmed'];
const LANDED: readonly State[] = ['confirmed', 'landed'];
const STATES = { PENDING: 'open', LANDED: 'landed', FAILED: 'failed', EXPIRED: 'failed' } as const;

type Known = { bundle: BundleRecord; state: State };

interface Outcome {
  readonly bundle: BundleRecord;
  readonly status: BundleStatus;
  readonly landedMs?: number;
  readonly errorMessage?: string;
  readonly failedTransaction?: number;
}

/** A batch that is held, with how far it has come. */
export class BatchWork implements HeldBatch {
  readonly deps: EngineDeps;
  readonly batch: BatchRecord;
  readonly context: BatchContext;
  readonly lease: Lease;
  readonly readPast: ReadPast;
  /** All that was written down, by its id; what has expired is left out. */
  readonly #known = new Map<string, Known>();
  #unsaved: Outcome[] = [];
  #costs: TransactionCost[] = [];
  /** What failed in its turn; `wasRefused`: by a node that tried it out. */
  #failure: (Failure & { readonly key: string; readonly wasRefused?: boolean }) | null = null;
  /** The step that was refused last. */
  #doubted: string | null = null;
  /** Something was sent before its turn had come: the next goes alone. */
  #isAlone = false;
  #hasSent = false;

  private constructor({ deps, context, batch, lease }: HeldBatch, stored: readonly BundleRecord[]) {
    this.deps = deps;
    this.batch = batch;
    this.context = context;
    this.lease = lease;
    this.readPast = pastOf(deps.chain, context.flywheel, batch);
    for (const bundle of stored) this.#known.set(bundle.id, { bundle, state: STATES[bundle.status] });
  }

  /** Takes over what was written down before. @param phases - what of it matters. @default all of them */
  static async open(held: HeldBatch, phases?: readonly BundlePhase[]): Promise<BatchWork> {
    return new BatchWork(held, await held.deps.store.read((tx) => tx.bundles.ofBatch(held.batch.id, phases)));
  }

  /**
   * @returns `null` when it is for somebody else to go on.
   * @throws `ERR_UNAVAILABLE` when the chain does not tell what became of something; running it again finds that.
   */
  async run<State extends BatchState>(goal: Goal<State>): Promise<End<State> | null> {
    this.#failure = null;
    try {
      for (let idle = 0; idle < MAX_IDLE_ROUNDS; ) {
        this.lease.signal?.throwIfAborted();
        const came = await this.#round(goal);
        if (typeof came === 'object') return came;
        idle = came === 'moved' ? 0 : idle + 1;
      }
      throw new FlywheelError(
        'ERR_UNAVAILABLE',
        `Transactions of batch ${this.batch.id} were sent, and their outcome is not known yet.`,
      );
    } catch (error) {
      throw this.#hasSent || this.#in(OPEN).length > 0 ? maybeSent(error) : error;
    }
  }

  /** Looks where the batch is, and does what is next. @returns where it ended, or whether it has come any further. */
  async #round<State extends BatchState>(goal: Goal<State>): Promise<End<State> | null | 'moved' | 'idle'> {
    const state = await goal.read();
    const next = goal.isReached(state) ? null : await goal.next(state);
    if (next === 'wait') return null;
    if (next === 'again') return 'idle';
    if (next === null || this.#isStopped(next))
      return (await this.#endOf(goal, state, next !== null)) ?? 'idle';
    if (await this.#send(next)) return 'moved';
    await this.#pause();
    return 'idle';
  }

  /** What failed is tried once more, on other terms. */
  forgetFailure(): void {
    this.#failure = null;
  }

  #in(states: readonly State[], phase?: BundlePhase): readonly BundleRecord[] {
    return [...this.#known.values()]
      .filter(({ bundle, state }) => states.includes(state) && (phase ?? bundle.phase) === bundle.phase)
      .map(({ bundle }) => bundle)
      .sort((a, b) => a.first - b.first);
  }

  hasLanded(phase: BundlePhase, first: number): boolean {
    return this.#in(LANDED, phase).some((bundle) => bundle.first === first);
  }

  /** Written down, and not known to have come to a final end. @param first - @default any */
  openOf(phase: BundlePhase, first?: number): BundleRecord | undefined {
    return this.#in(OPEN, phase).find((bundle) => bundle.first === (first ?? bundle.first));
  }

  countLanded(phase: BundlePhase): number {
    return countOf(this.#in(LANDED, phase));
  }

  /** Transactions of a phase, by their index, that were signed here and have landed, as far as is known, or may have. */
  signedOf(phase: BundlePhase) {
    const signed = new Map<number, { readonly signature: string; readonly hasLanded: boolean }>();
    for (const bundle of this.#in(['open', 'confirmed', 'landed'], phase))
      for (const [at, { signature }] of bundle.transactions.entries())
        signed.set(bundle.first + at, { signature, hasLanded: this.#isLanded(bundle) });
    return signed;
  }

  landedOf(phase: BundlePhase): readonly BundleRecord[] {
    return this.#in(['landed'], phase);
  }

  /** Writes what became of transactions, and what follows from that, under the lease. */
  write(after?: (tx: StoreTransaction) => Promise<unknown>): Promise<void> {
    return this.lease.write(async (tx) => {
      await this.#writeOutcomes(tx);
      await after?.(tx);
    });
  }

  async #writeOutcomes(tx: StoreTransaction): Promise<void> {
    const landed = this.#unsaved.flatMap(({ bundle, landedMs }) =>
      landedMs === undefined ? [] : [{ ...bundle, landedMs }],
    );
    for (const { bundle, landedMs: _, ...outcome } of this.#unsaved)
      if (outcome.status !== 'LANDED') await tx.bundles.settle([bundle.id], outcome);
    await tx.bundles.settle(
      landed.map(({ id }) => id),
      { status: 'LANDED' },
    );
    const executed = landed.filter(({ phase }) => phase === 'EXECUTE');
    await countLanded(
      tx,
      this.batch,
      executed.flatMap(({ first, transactions, landedMs }) =>
        transactions.map(({ signature }, at) => ({ position: first + at, signature, landedMs })),
      ),
    );
    await tx.batches.addCosts(this.batch.id, this.#costs);
    this.#unsaved = [];
    this.#costs = [];
  }

  /**
   * Waits until all that was written down has come to an end that is final. Where the chain tells an end at once, what has not
   * landed never will: nobody sends it any more.
   * @throws `ERR_UNAVAILABLE` when that takes too long.
   */
  async settleAll(): Promise<void> {
    if (!(await this.#settle())) throw this.#notFinal();
  }

  /** @returns whether all has; what a fork has taken back is sent again in its turn. */
  async #settle(): Promise<boolean> {
    const { chain } = this.deps;
    for (let waitedMs = 0; ; waitedMs += chain.pollMs ?? 0) {
      const open = this.#in(OPEN);
      const fates = await findFates(chain, open);
      let isUndone = false;
      for (const [index, bundle] of open.entries()) {
        const fate = fates[index] as Fate;
        isUndone ||= fate.kind === 'open' && this.#isLanded(bundle);
        this.#take(bundle, fate.kind === 'open' && chain.pollMs === null ? { kind: 'expired' } : fate);
      }
      if (isUndone || this.#in(OPEN).length === 0) return !isUndone;
      if (waitedMs >= MAX_WAIT_MS) throw this.#notFinal();
      tellWaiting(fates, this.lease);
      await this.#pause();
    }
  }

  /**
   * Sends what another has signed, unless it has come to its end already.
   * @returns its end; `open` where the chain does not say.
   */
  async sendSigned(
    phase: BundlePhase,
    vote: BundleTransaction & Pick<BundleRecord, 'lastValidBlockHeight'>,
  ): Promise<Fate> {
    const { chain } = this.deps;
    const { signature, bytes, lastValidBlockHeight } = vote;
    const known = this.#in(ALL).find(({ transactions }) => transactions[0]?.signature === signature);
    // Not a step of a plan, so that its number only has to differ from those of its phase.
    const first = 1 + (this.#in(ALL, phase).at(-1)?.first ?? -1);
    const transactions = [{ signature, bytes }];
    const bundle = known ?? this.#bundle({ phase, first, transactions, lastValidBlockHeight });
    const [before] = (await findFates(chain, [bundle])) as [Fate];
    if (before.kind === 'expired') return before;
    if (known === undefined) {
      await this.lease.write((tx) => tx.bundles.insertMany([bundle]));
      this.#known.set(bundle.id, { bundle, state: 'open' });
    }
    let fate: Fate = before;
    if (fate.kind === 'open') {
      await this.lease.check();
      this.#hasSent = true;
      // The owner may have sent it already, as may an engine before this one.
      const [rejection] = await chain.submit([bytes], [false]);
      if (rejection != null && !isExpiry(rejection)) return refused(rejection);
      [fate] = (await awaitFates(chain, [bundle], this.lease)) as [Fate];
    }
    this.#take(bundle, fate);
    // Who sent it may stop because of that, and its fee is gone.
    await this.write();
    return fate;
  }

  #isLanded({ id }: BundleRecord): boolean {
    return LANDED.includes(this.#known.get(id)?.state ?? 'failed');
  }

  #bundle(
    signed: Pick<BundleRecord, 'phase' | 'first' | 'transactions' | 'lastValidBlockHeight'>,
  ): BundleRecord {
    return {
      ...signed,
      id: this.deps.ids.uuid(),
      batchId: this.batch.id,
      // As block engines name a bundle (contract, section 1.2).
      bundleId: sha256(signed.transactions.map(({ signature }) => signature).join(',')),
      status: 'PENDING',
      errorMessage: null,
      failedTransaction: null,
    };
  }

  #isStopped(next: Next): next is Stop {
    if (typeof next === 'string') return false;
    return 'stop' in next || this.#failure?.key === keyOf(next);
  }

  /** The end, if it is one in the finalized state too; that follows what is only confirmed. */
  async #endOf<State extends BatchState>(
    goal: Goal<State>,
    seen: State,
    wasStopped: boolean,
  ): Promise<End<State> | null> {
    if (!(await this.#settle())) return null;
    let now = seen;
    let final = await goal.read('finalized');
    for (let waitedMs = 0; !isSame(final, now); waitedMs += this.deps.chain.pollMs ?? 0) {
      if (waitedMs >= MAX_WAIT_MS) throw this.#notFinal();
      await this.#pause();
      now = await goal.read();
      final = await goal.read('finalized');
    }
    if (goal.isReached(final)) return { state: final, failure: null };
    const next = wasStopped ? await goal.next(final) : 'again';
    if (!this.#isStopped(next)) return null;
    // A node that was behind when it tried it out is asked once more, for no state before this one.
    if (this.#failure?.wasRefused === true && this.deps.chain.pollMs !== null) {
      const { key } = this.#failure;
      if (this.#doubted !== key) {
        this.#doubted = key;
        this.#failure = null;
        return null;
      }
    }
    return { state: final, failure: this.#failure ?? { message: next.stop } };
  }

  /** @returns whether anything came to an end that was not known. */
  async #send(steps: NextSteps): Promise<boolean> {
    const { chain } = this.deps;
    // A node that is behind shows the chain as it was before.
    if (this.landedOf(steps.phase).some(({ first }) => first === steps.first)) return false;
    const window = this.#window(steps);
    const known = window.filter((one) => 'id' in one);
    const before = await findFates(chain, known);
    const ended = known.filter((_, at) => before[at]?.kind !== 'open');
    if (ended.length > 0)
      return ended.map((bundle) => this.#take(bundle, before[known.indexOf(bundle)] as Fate)).includes(true);
    const firsts = window.filter((one) => !('id' in one)).map(({ first }) => first);
    const fresh = firsts.length === 0 ? [] : await this.#sign(steps, firsts);
    const bundles = [...known, ...fresh].sort((a, b) => a.first - b.first);
    // The next block gives other bytes, where that has not ended it.
    if (bundles.length === 0) return this.#failure !== null;
    await this.write(async (tx) => {
      await steps.before?.(tx);
      await tx.bundles.insertMany(fresh);
    });
    for (const bundle of fresh) this.#known.set(bundle.id, { bundle, state: 'open' });
    this.#hasSent = true;
    tellSigned(this.deps, this.#subject(steps.phase), fresh);
    const hasEnded = await this.#submit(bundles, fresh);
    const landed = bundles.filter((bundle) => this.#isLanded(bundle));
    this.lease.tellSteps({ done: steps.first + countOf(landed), total: steps.end });
    return hasEnded;
  }

  /** Bundles that are written down, and indexes at which one begins that is not. */
  #window(steps: NextSteps): readonly (BundleRecord | { readonly first: number })[] {
    const { chain, limits } = this.deps;
    const most = chain.pollMs === null ? limits.bundlesPerCommit : MAX_AHEAD;
    const window: (BundleRecord | { readonly first: number })[] = [];
    for (let first = steps.first; first < steps.end && window.length < (this.#isAlone ? 1 : most); ) {
      const known = this.openOf(steps.phase, first);
      window.push(known ?? { first });
      first += known?.transactions.length ?? bundleSizeOf(chain);
    }
    return window;
  }

  /** Signs what is not written down yet, up to what would fail again: the very same has, and there was no block since. */
  async #sign(
    { phase, first: from, end, instructions }: NextSteps,
    firsts: readonly number[],
  ): Promise<readonly BundleRecord[]> {
    const { chain } = this.deps;
    const payer = this.context.operator.address;
    const terms = await signingTerms(chain, { payer, instructions: instructions(from) });
    const { blockhash, lastValidBlockHeight } = terms;
    const pause = createPause();
    const messages: Uint8Array[] = [];
    const ends = firsts.map((first) => Math.min(first + bundleSizeOf(chain), end));
    for (const [at, first] of firsts.entries())
      for (let index = first; index < (ends[at] ?? first); index += 1) {
        const units = index === from ? terms.sample?.units : undefined;
        const budgeted = withBudget(instructions(index), terms, units);
        messages.push(compileLegacyMessage({ payer, instructions: budgeted, blockhash }));
        await pause();
      }
    const signed = [...(await sign(messages, [this.context.operator]))];
    const fresh = firsts.map((first, at) => {
      const transactions = signed.splice(0, (ends[at] ?? first) - first);
      return this.#bundle({ phase, first, transactions, lastValidBlockHeight });
    });
    // Cut into other bundles, a transaction that has failed is the same one still.
    const ended = this.#in(['failed']);
    const known = new Set(ended.flatMap((one) => one.transactions.map(({ signature }) => signature)));
    const again = fresh.findIndex((one) => one.transactions.some(({ signature }) => known.has(signature)));
    const failed = ended.find(({ bundleId }) => bundleId === fresh[again]?.bundleId);
    if (failed?.first === from && this.#doubted !== keyOf(failed))
      this.#failure = failureOf(failed, failed.failedTransaction ?? 0, failed.errorMessage ?? '');
    return fresh.slice(0, again < 0 ? fresh.length : again);
  }

  async #submit(bundles: readonly BundleRecord[], fresh: readonly BundleRecord[]): Promise<boolean> {
    const { chain } = this.deps;
    const receipt: (Rejection | null)[] = [];
    /** Those that were sent first once all before them had landed; any other may fail because it came too early. */
    const inTurn = new Set(
      chain.pollMs === null ? bundles : bundles.slice(0, 1).filter((one) => fresh.includes(one)),
    );
    while (receipt.length < bundles.length && (receipt.at(-1) ?? null) === null) {
      const [before, next] = [bundles[receipt.length - 1], bundles[receipt.length]];
      const came = before === undefined ? 'landed' : await this.#wayOf(before);
      if (came === null) break;
      if (came === 'landed' && next !== undefined && fresh.includes(next)) inTurn.add(next);
      await this.lease.check();
      const rest = bundles.slice(receipt.length);
      // Only what is sent in its turn is tried out before: until then the chain's state is not what it builds on.
      const areNew = rest.map((bundle) => inTurn.has(bundle));
      receipt.push(
        ...(await chain.submitBundles(
          rest.map(({ transactions }) => transactions.map(({ bytes }) => bytes)),
          areNew,
        )),
      );
    }
    const sent = bundles.slice(0, receipt.length);
    // What was written down just now and is not sent never will be.
    for (const bundle of bundles.slice(receipt.length))
      if (fresh.includes(bundle)) this.#take(bundle, { kind: 'expired' });
    // An unknown blockhash may only mean that it ran out meanwhile, which a look-up proves.
    const refusals = receipt.map((rejection) =>
      rejection === null || isExpiry(rejection) ? null : rejection,
    );
    const taken = sent.filter((_, at) => refusals[at] == null);
    const fates = await awaitFates(chain, taken, this.lease);
    const ends = sent.map((bundle, at) => {
      const refusal = refusals[at];
      return { bundle, end: refusal == null ? (fates[taken.indexOf(bundle)] as Fate) : refused(refusal) };
    });
    return this.#takeEnds(ends, inTurn);
  }

  /** How far it has come, so that what builds on it may follow; `null` where it is not seen soon: its end is waited for. */
  async #wayOf(bundle: BundleRecord): Promise<'landed' | 'run' | null> {
    const { chain } = this.deps;
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      const [fate] = await findFates(chain, [bundle]);
      if (fate?.kind !== 'open') return fate?.kind === 'landed' ? 'landed' : null;
      if (fate.ranWell === true) return 'run';
      tellWaiting([{ signature: bundle.transactions[0]?.signature ?? '', ...fate }], this.lease);
      await this.#pause(LOOKS_A_POLL);
    }
    return null;
  }

  #takeEnds(
    ends: readonly { readonly bundle: BundleRecord; readonly end: Fate }[],
    inTurn: ReadonlySet<BundleRecord>,
  ): boolean {
    let hasEnded = false;
    for (const { bundle, end } of ends) hasEnded = this.#take(bundle, end) || hasEnded;
    const failed = ends.find(({ end }) => end.kind === 'failed');
    const wasInTurn = failed !== undefined && inTurn.has(failed.bundle);
    this.#isAlone = failed !== undefined && !wasInTurn;
    this.#failure =
      failed?.end.kind === 'failed' && wasInTurn
        ? {
            ...failureOf(failed.bundle, failed.end.at, failed.end.reason),
            wasRefused: failed.end.rejection !== null,
          }
        : null;
    const settled = ends.flatMap(({ bundle, end }) =>
      end.kind === 'landed' || end.kind === 'failed' ? [{ unit: bundle, end }] : [],
    );
    const phase = ends[0]?.bundle.phase;
    if (phase !== undefined) tellSettled(this.deps, this.#subject(phase), settled);
    return hasEnded;
  }

  #take(bundle: BundleRecord, fate: Fate): boolean {
    const known = this.#known.get(bundle.id);
    if (known === undefined || !OPEN.includes(known.state)) return fate.kind !== 'open';
    const before = known.state;
    if (fate.kind === 'open') known.state = 'open';
    else if (fate.kind === 'landed' && !fate.isFinal) known.state = 'confirmed';
    else {
      this.#note(known, fate);
      return true;
    }
    return known.state === 'confirmed' && before === 'open';
  }

  #note(known: Known, fate: Exclude<Fate, { kind: 'open' }>): void {
    const { bundle } = known;
    if (fate.kind === 'expired') {
      this.#known.delete(bundle.id);
      this.#unsaved.push({ bundle, status: 'EXPIRED' });
      return;
    }
    this.#costs.push(...fate.records.map((record) => costOf(record, this.context.flywheel)));
    if (fate.kind === 'landed') {
      known.state = 'landed';
      const [record] = fate.records;
      this.#unsaved.push({ bundle, status: 'LANDED', landedMs: landedMs(record, this.deps) });
    } else {
      const [errorMessage, failedTransaction] = [fate.reason, fate.at];
      known.state = 'failed';
      known.bundle = { ...bundle, status: 'FAILED', errorMessage, failedTransaction };
      this.#unsaved.push({ bundle, status: 'FAILED', errorMessage, failedTransaction });
    }
  }

  #subject(phase: BundlePhase) {
    return { operationId: this.batch.id, phase };
  }

  /** Where the chain tells an end at once, nothing is waited for. */
  async #pause(times = 1): Promise<void> {
    const { pollMs } = this.deps.chain;
    this.lease.signal?.throwIfAborted();
    if (pollMs === null) await this.lease.check();
    else await this.lease.pause(pollMs / times);
  }

  #notFinal(): FlywheelError {
    return new FlywheelError(
      'ERR_UNAVAILABLE',
      `The transactions of batch ${this.batch.id} are not finalized on chain yet. Try again.`,
    );
  }
}

const isSame = (a: BatchState, b: BatchState): boolean =>
  isDeepStrictEqual([a.batch, a.proposal], [b.batch, b.proposal]);

export const executionsOf = (bundles: readonly BundleRecord[]): BundleExecution[] =>
  bundles.map(({ bundleId, transactions }) => ({
    bundleId,
    txHashes: transactions.map(({ signature }) => signature),
  }));

const countOf = (bundles: readonly BundleRecord[]): number =>
  bundles.reduce((sum, { transactions }) => sum + transactions.length, 0);

function failureOf(bundle: BundleRecord, failedTransaction: number, reason: string) {
  const at = bundle.first + failedTransaction;
  return {
    ...{ key: keyOf(bundle), failedTransaction: at, firstTransaction: bundle.first },
    message: `Transaction ${at} failed: ${reason}.`,
  };
}
