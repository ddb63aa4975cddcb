/** Drives a batch to a goal: reads its state on chain, signs, stores and sends the next transactions, waits, and repeats. */
import { isDeepStrictEqual } from 'node:util';
import { bundleSizeOf, type Commitment, type Rejection } from '../../chain/chain.js';
import type { Instruction } from '../../chain/transaction/message.js';
import { sign } from '../../chain/transaction/sign.js';
import { compileLegacyMessage } from '../../chain/transaction/wire.js';
import { FlywheelError } from '../../errors/flywheel-error.js';
import type {
  BatchRecord,
  BundlePhase,
  BundleRecord,
  RequestRecord,
  TransactionCost,
} from '../../store/records.js';
import type { StoreTransaction } from '../../store/store.js';
import { sha256 } from '../../values/digest.js';
import { countLanded, landedMs } from '../caps.js';
import { type EngineDeps, tellSettled, tellSigned } from '../deps.js';
import { type Caller, type Lease, underLease } from '../lease.js';
import { awaitFates, type Fate, findFates, isExpiry, maybeSent, refused, tellWaiting } from '../settle.js';
import { signingTerms, withBudget } from '../signing-terms.js';
import { type BatchContext, costOf, inProgress } from './batch-context.js';
import { type BatchState, pastOf, readBatchState } from './on-chain.js';

interface NextSteps {
  readonly phase: BundlePhase;
  /** Index within the phase: `first` inclusive, `end` exclusive. */
  readonly first: number;
  readonly end: number;
  readonly instructions: (index: number) => readonly Instruction[];
  readonly before?: (tx: StoreTransaction) => Promise<void>;
}

type Stop = { readonly stop: string };

/** `again`: read the chain again. `wait`: another party, such as the owner, must act first. */
export type Next = NextSteps | Stop | 'again' | 'wait';

export interface Goal {
  /** @default the batch at its index */
  readonly read?: (commitment?: Commitment) => Promise<BatchState>;
  readonly isReached: (state: BatchState) => boolean;
  readonly next: (state: BatchState) => Promise<Next>;
}

export interface Failure {
  readonly message: string;
  readonly failedTransaction?: number;
  readonly firstTransaction?: number;
}

export interface End {
  readonly state: BatchState;
  readonly failure: Failure | null;
}

/** Maximum of unconfirmed bundles on a cluster; a fork can remove all of them. */
const MAX_AHEAD = 6;
const LOOKS_A_POLL = 2;
const MAX_LOOKS = 20;
const MAX_IDLE_ROUNDS = 20;
const MAX_WAIT_MS = 120_000;

type SignedVote = BundleRecord['transactions'][number] & Pick<BundleRecord, 'lastValidBlockHeight'>;

const keyOf = ({ phase, first }: Pick<BundleRecord, 'phase' | 'first'>): string => `${phase} ${first}`;

interface Known {
  /** With its outcome once that is final, also before it is written. */
  bundle: BundleRecord;
  /** Landed, but a fork may still remove the bundle. */
  isConfirmed: boolean;
  landedMs?: number;
}

const isPending = ({ bundle }: Known): boolean => bundle.status === 'PENDING';
const isFinal = ({ bundle }: Known): boolean => bundle.status === 'LANDED';
const hasFailed = ({ bundle }: Known): boolean => bundle.status === 'FAILED';
const hasLanded = (known: Known): boolean => known.isConfirmed || isFinal(known);

/**
 * The program executes each step once and in order (squads-v4.md, section 7), so a step sent twice acts once; all fees are
 * counted. The outcome of a transaction or batch is stored only when it is finalized.
 */
export class BatchWork {
  readonly readPast: ReturnType<typeof pastOf>;
  readonly #known = new Map<string, Known>();
  #unsaved: Known[] = [];
  #costs: TransactionCost[] = [];
  /** Failure of a bundle sent in order. `wasRefused`: a node's simulation rejected the bundle. */
  #failure: (Failure & { readonly key: string; readonly wasRefused?: boolean }) | null = null;
  #doubted: string | null = null;
  /** A bundle failed because it was sent too early; the next bundle is sent alone. */
  #isAlone = false;
  #hasSent = false;

  constructor(
    readonly deps: EngineDeps,
    readonly context: BatchContext,
    readonly batch: BatchRecord,
    readonly lease: Lease,
    stored: readonly BundleRecord[],
  ) {
    this.readPast = pastOf(deps.chain, context.project, batch);
    this.#add(stored);
  }

  /** @throws `ERR_UNAVAILABLE` from a node that is behind and does not know the batch. */
  readonly read = async (commitment?: Commitment): Promise<BatchState> => {
    const { deps, context, batch } = this;
    const state = await readBatchState(deps.chain, context.project, batch, commitment);
    if (state.multisig.transactionIndex >= batch.batchIndex) return state;
    throw new FlywheelError('ERR_UNAVAILABLE', `The chain does not show batch ${batch.id} yet. Try again.`);
  };

  /**
   * @returns `null` when another party must act first.
   * @throws `ERR_UNAVAILABLE` when the outcome of a transaction is unknown; another run finds it.
   */
  async run(goal: Goal): Promise<End | null> {
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
      throw this.#hasSent || this.#in(isPending).length > 0 ? maybeSent(error) : error;
    }
  }

  async #round(goal: Goal): Promise<End | null | 'moved' | 'idle'> {
    const state = await (goal.read ?? this.read)();
    const next = goal.isReached(state) ? null : await goal.next(state);
    if (next === 'wait') return null;
    if (next === 'again') return 'idle';
    if (next === null || this.#isStopped(next))
      return (await this.#endOf(goal, state, next !== null)) ?? 'idle';
    if (await this.#send(next)) return 'moved';
    await this.#pause();
    return 'idle';
  }

  forgetFailure(): void {
    this.#failure = null;
  }

  #add(bundles: readonly BundleRecord[]): void {
    for (const bundle of bundles) this.#known.set(bundle.bundleId, { bundle, isConfirmed: false });
  }

  #in(are: (known: Known) => boolean, phase?: BundlePhase): readonly BundleRecord[] {
    return [...this.#known.values()]
      .filter((known) => are(known) && (phase ?? known.bundle.phase) === known.bundle.phase)
      .map(({ bundle }) => bundle)
      .sort((a, b) => a.first - b.first);
  }

  hasLanded(phase: BundlePhase, first: number): boolean {
    return this.#in(hasLanded, phase).some((bundle) => bundle.first === first);
  }

  openOf(phase: BundlePhase, first?: number): BundleRecord | undefined {
    return this.#in(isPending, phase).find((bundle) => bundle.first === (first ?? bundle.first));
  }

  countLanded(phase: BundlePhase): number {
    return countOf(this.#in(hasLanded, phase));
  }

  /** Transactions of a phase by index that were signed here and have landed or may still land. */
  signedOf(phase: BundlePhase) {
    const signed = new Map<number, { readonly signature: string; readonly hasLanded: boolean }>();
    for (const bundle of this.#in((known) => !hasFailed(known), phase))
      for (const [at, { signature }] of bundle.transactions.entries())
        signed.set(bundle.first + at, { signature, hasLanded: this.#isLanded(bundle) });
    return signed;
  }

  landedOf(phase: BundlePhase): readonly BundleRecord[] {
    return this.#in(isFinal, phase);
  }

  write(after?: (tx: StoreTransaction) => Promise<unknown>): Promise<void> {
    return this.lease.write(async (tx) => {
      await this.#writeOutcomes(tx);
      await after?.(tx);
    });
  }

  async #writeOutcomes(tx: StoreTransaction): Promise<void> {
    await tx.bundles.settle(this.#unsaved.map(({ bundle }) => bundle));
    await countLanded(
      tx,
      this.batch,
      this.#unsaved.flatMap(({ bundle: { phase, first, transactions }, landedMs }) =>
        phase === 'EXECUTE' && landedMs !== undefined
          ? transactions.map(({ signature }, at) => ({ position: first + at, signature, landedMs }))
          : [],
      ),
    );
    await tx.batches.addCosts(this.batch.id, this.#costs);
    this.#unsaved = [];
    this.#costs = [];
  }

  /**
   * Waits until all stored bundles have a final outcome. A local chain decides at submission: a bundle that has not landed never
   * will.
   * @throws `ERR_UNAVAILABLE` after {@link MAX_WAIT_MS}.
   */
  async settleAll(): Promise<void> {
    if (!(await this.#settle())) throw this.#notFinal();
  }

  /** @returns whether all have an outcome. Bundles removed by a fork are sent again in order. */
  async #settle(): Promise<boolean> {
    const { chain } = this.deps;
    for (let waitedMs = 0; ; waitedMs += chain.pollMs ?? 0) {
      const open = this.#in(isPending);
      const fates = await findFates(chain, open);
      let isUndone = false;
      for (const [index, bundle] of open.entries()) {
        const fate = fates[index] as Fate;
        isUndone ||= fate.kind === 'open' && this.#isLanded(bundle);
        this.#take(bundle, fate.kind === 'open' && chain.pollMs === null ? { kind: 'expired' } : fate);
      }
      if (isUndone || this.#in(isPending).length === 0) return !isUndone;
      if (waitedMs >= MAX_WAIT_MS) throw this.#notFinal();
      tellWaiting(fates, this.lease);
      await this.#pause();
    }
  }

  /**
   * Stores and sends a transaction that the owner signed, unless it already has an outcome.
   * @returns its outcome; `open` when unknown.
   */
  async sendSigned({ signature, bytes, lastValidBlockHeight }: SignedVote): Promise<Fate> {
    const { chain } = this.deps;
    const phase = 'OWNER_APPROVAL';
    const known = this.#in(() => true).find(({ transactions }) => transactions[0]?.signature === signature);
    // A vote is no step of a plan; its index only has to be unique in its phase.
    const first = 1 + (this.#in(() => true, phase).at(-1)?.first ?? -1);
    const transactions = [{ signature, bytes }];
    const bundle = known ?? this.#bundle({ phase, first, transactions, lastValidBlockHeight });
    const [before] = (await findFates(chain, [bundle])) as [Fate];
    if (before.kind === 'expired') return before;
    if (known === undefined) {
      await this.lease.write((tx) => tx.bundles.insertMany([bundle]));
      this.#add([bundle]);
    }
    let fate: Fate = before;
    if (fate.kind === 'open') {
      await this.lease.check();
      this.#hasSent = true;
      // Not new (`areNew` false): the owner or an earlier engine may have sent it.
      const [rejection] = await chain.submit([bytes], [false]);
      if (rejection != null && !isExpiry(rejection)) return refused(rejection);
      [fate] = (await awaitFates(chain, [bundle], this.lease)) as [Fate];
    }
    this.#take(bundle, fate);
    // The caller may stop on failure, but the fee is spent and must be stored.
    await this.write();
    return fate;
  }

  #isLanded({ bundleId }: BundleRecord): boolean {
    const known = this.#known.get(bundleId);
    return known !== undefined && hasLanded(known);
  }

  #bundle(
    signed: Pick<BundleRecord, 'phase' | 'first' | 'transactions' | 'lastValidBlockHeight'>,
  ): BundleRecord {
    return {
      ...signed,
      batchId: this.batch.id,
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

  /** The end, if the finalized state agrees with the confirmed state; otherwise `null`. */
  async #endOf(goal: Goal, seen: BatchState, wasStopped: boolean): Promise<End | null> {
    if (!(await this.#settle())) return null;
    const { read = this.read } = goal;
    let now = seen;
    let final = await read('finalized');
    for (let waitedMs = 0; !isSame(final, now); waitedMs += this.deps.chain.pollMs ?? 0) {
      if (waitedMs >= MAX_WAIT_MS) throw this.#notFinal();
      await this.#pause();
      now = await read();
      final = await read('finalized');
    }
    if (goal.isReached(final)) return { state: final, failure: null };
    const next = wasStopped ? await goal.next(final) : 'again';
    if (!this.#isStopped(next)) return null;
    // The rejecting node may have been behind; the step is tried once more on the finalized state.
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

  async #send(steps: NextSteps): Promise<boolean> {
    const { chain } = this.deps;
    // A node that lags behind still shows the earlier state.
    if (this.landedOf(steps.phase).some(({ first }) => first === steps.first)) return false;
    const window = this.#window(steps);
    const known = window.filter((one) => 'bundleId' in one);
    const before = await findFates(chain, known);
    const ended = known.filter((_, at) => before[at]?.kind !== 'open');
    if (ended.length > 0)
      return ended.map((bundle) => this.#take(bundle, before[known.indexOf(bundle)] as Fate)).includes(true);
    const firsts = window.filter((one) => !('bundleId' in one)).map(({ first }) => first);
    const fresh = firsts.length === 0 ? [] : await this.#sign(steps, firsts);
    const bundles = [...known, ...fresh].sort((a, b) => a.first - b.first);
    // The next block gives a new blockhash and so new bytes, unless the step failed.
    if (bundles.length === 0) return this.#failure !== null;
    await this.write(async (tx) => {
      await steps.before?.(tx);
      await tx.bundles.insertMany(fresh);
    });
    this.#add(fresh);
    this.#hasSent = true;
    tellSigned(this.deps, this.batch.id, steps.phase, fresh);
    const hasEnded = await this.#submit(bundles, fresh);
    const landed = bundles.filter((bundle) => this.#isLanded(bundle));
    this.lease.tellSteps({ done: steps.first + countOf(landed), total: steps.end });
    return hasEnded;
  }

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

  /**
   * Signs bundles that are not stored yet, and stops before bytes that failed already: without a new block the same bytes fail
   * again.
   */
  async #sign(
    { phase, first: from, end, instructions }: NextSteps,
    firsts: readonly number[],
  ): Promise<readonly BundleRecord[]> {
    const { chain } = this.deps;
    const payer = this.context.operator.address;
    const terms = await signingTerms(chain, { payer, instructions: instructions(from) });
    const { blockhash, lastValidBlockHeight } = terms;
    const messages: Uint8Array[] = [];
    const ends = firsts.map((first) => Math.min(first + bundleSizeOf(chain), end));
    for (const [at, first] of firsts.entries())
      for (let index = first; index < (ends[at] ?? first); index += 1) {
        const units = index === from ? terms.units : undefined;
        const budgeted = withBudget(instructions(index), terms, units);
        messages.push(compileLegacyMessage({ payer, instructions: budgeted, blockhash }));
      }
    const signed = [...(await sign(messages, [this.context.operator]))];
    const fresh = firsts.map((first, at) => {
      const transactions = signed.splice(0, (ends[at] ?? first) - first);
      return this.#bundle({ phase, first, transactions, lastValidBlockHeight });
    });
    // Compare signatures: the same transaction may be in a bundle of another size.
    const ended = this.#in(hasFailed);
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
    /** Bundles first sent after all earlier ones landed. Any other bundle may fail only because it came too early. */
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
      // Only a bundle sent in order is simulated: before its turn the chain lacks the state that it needs.
      const areNew = rest.map((bundle) => inTurn.has(bundle));
      receipt.push(
        ...(await chain.submitBundles(
          rest.map(({ transactions }) => transactions.map(({ bytes }) => bytes)),
          areNew,
        )),
      );
    }
    const sent = bundles.slice(0, receipt.length);
    // A bundle stored just now and not sent never lands.
    for (const bundle of bundles.slice(receipt.length))
      if (fresh.includes(bundle)) this.#take(bundle, { kind: 'expired' });
    // BlockhashNotFound may mean that the blockhash expired meanwhile; the look-up decides.
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

  /** `null` after too many polls: then the outcome of this bundle is awaited first. */
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
    const [bundles, fates] = [ends.map(({ bundle }) => bundle), ends.map(({ end }) => end)];
    const [{ phase }] = bundles as [BundleRecord];
    tellSettled(this.deps, this.batch.id, phase, bundles, fates);
    return hasEnded;
  }

  #take(bundle: BundleRecord, fate: Fate): boolean {
    const known = this.#known.get(bundle.bundleId);
    if (known === undefined || !isPending(known)) return fate.kind !== 'open';
    const wasConfirmed = known.isConfirmed;
    known.isConfirmed = fate.kind === 'landed' && !fate.isFinal;
    if (fate.kind === 'open' || known.isConfirmed) return known.isConfirmed && !wasConfirmed;
    this.#unsaved.push(known);
    if (fate.kind === 'expired') {
      known.bundle = { ...bundle, status: 'EXPIRED' };
      this.#known.delete(bundle.bundleId);
      return false;
    }
    this.#costs.push(...fate.records.map((record) => costOf(record, this.context.project)));
    if (fate.kind === 'landed') {
      known.bundle = { ...bundle, status: 'LANDED' };
      known.landedMs = landedMs(fate.records[0], this.deps);
    } else {
      const [errorMessage, failedTransaction] = [fate.reason, fate.at];
      known.bundle = { ...bundle, status: 'FAILED', errorMessage, failedTransaction };
    }
    return true;
  }

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

/** Works on a claimed batch under its lease, and that of its request. */
export const workOnBatch = <Result>(
  deps: EngineDeps,
  context: BatchContext,
  { batch, request }: { readonly batch: BatchRecord; readonly request: RequestRecord | null },
  caller: Caller,
  work: (work: BatchWork) => Promise<Result>,
  lost: () => FlywheelError = () => inProgress(batch.id),
): Promise<Result> =>
  underLease(deps, { batch, request, lost }, caller, async (lease) => {
    const stored = await deps.store.read((tx) => tx.bundles.ofBatch(batch.id));
    return work(new BatchWork(deps, context, batch, lease, stored));
  });

const isSame = (a: BatchState, b: BatchState): boolean =>
  isDeepStrictEqual([a.batch, a.proposal], [b.batch, b.proposal]);

export const executionsOf = (bundles: readonly BundleRecord[]) =>
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
