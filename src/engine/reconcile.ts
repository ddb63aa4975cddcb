/**
 * What any engine left unfinished is brought to its end: pending burns are settled, batches that were half set up or half
 * executed are carried on. Each is taken under its lease, so that nobody else is at it, and nothing is begun that was not asked
 * for: every step of it was written down before.
 */
import type { RecoveryTerms } from '../contract/recovery.js';
import { invariant, isFlywheelError } from '../errors/flywheel-error.js';
import type { RequestRecord } from '../store/records.js';
import type { TakenRequest } from '../store/repositories/unfinished.js';
import type { StoreTransaction } from '../store/store.js';
import { type UtcDay, utcDay } from '../values/time.js';
import { carryOnExecution } from './batches/execute-batch.js';
import { carryOnSetUp } from './batches/init-batch.js';
import { openOf, settleBurns, writeOutcomes } from './burns/chunk.js';
import { watchConfirmed } from './burns/confirmed.js';
import type { EngineDeps } from './deps.js';
import { tell } from './events.js';
import { gapWatchOf, storeBehind } from './gaps/gap-watch.js';
import { type Caller, newLease, underLease } from './lease.js';
import { requestHolding } from './requests/requests.js';

export interface Reconciled {
  /** Burns that have an outcome now. */
  readonly burns: number;
  /** Requests that had some. */
  readonly requests: number;
  /** Batches that were carried on to where they wait for somebody, or to their end. */
  readonly batches: number;
}

const NOTHING = { burns: 0, requests: 0 } as const;

/** How it is done. */
export type ReconcileTerms = Caller & RecoveryTerms;

/** Answers that are forgotten in one transaction. */
const FORGOTTEN_AT_ONCE = 1_000;

/** What fails is tried again after so long, and after twice as long each time that it fails. */
const FIRST_RETRY_MS = 15_000;
const MAX_RETRY_MS = 300_000;

/** Work that has failed before. */
interface Delay {
  readonly failures: number;
  readonly untilMs: number;
  /** Why it failed last. */
  readonly reason: string;
}

/** Brings things to their end, as often as it is asked to; never two times at once. */
export class Reconciler {
  readonly #deps: EngineDeps;
  readonly #delays = new Map<string, Delay>();
  #running: Promise<Reconciled> | undefined;
  #day: UtcDay | undefined;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
  }

  /**
   * Forgets answers that are older than the retention, then carries on what nobody works on. Requests for burns stay open: a
   * client that brings one again gets its answer, with what was left of it done.
   */
  run(terms: ReconcileTerms = {}): Promise<Reconciled> {
    this.#running ??= this.#run(terms).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(terms: ReconcileTerms): Promise<Reconciled> {
    const deps = this.#deps;
    const { tokenId = null } = terms;
    const gaps = gapWatchOf(deps);
    await this.#forgetOld(terms);
    await this.#try('what the chain knows more than the store', 'gaps', terms, async () => {
      for (const gap of await gaps.again()) terms.onProblem?.(`project ${gap.tokenId}`, storeBehind(gap));
    });
    await this.#try('burns that have landed and are not final', 'confirmed', terms, async () => {
      const { missing } = await watchConfirmed(deps, { tokenId });
      // To send what has landed all the same changes nothing.
      if (missing.length > 0) await deps.chain.submit(missing);
    });
    const left = await deps.store.read(async ({ unfinished }) => ({
      burns: await unfinished.burnRequests(tokenId),
      setUps: await unfinished.setUps(tokenId),
      executions: [...(await unfinished.executions(tokenId)), ...(await unfinished.closings(tokenId))],
    }));
    const { burns, requests } = left.burns.length > 0 ? await this.#settleRequests(terms) : NOTHING;
    let batches = 0;
    for (const id of left.setUps) {
      const work = async (): Promise<boolean> => {
        await gaps.requireOf({ batch: id });
        return carryOnSetUp(deps, id, terms);
      };
      if (!(await this.#try(`the set-up of batch ${id}`, id, terms, work))) continue;
      batches += 1;
      tell(deps, { operationId: id, event: 'reconciled', what: 'set-up' });
    }
    for (const id of left.executions) {
      const work = async (): Promise<boolean> => {
        await gaps.requireOf({ batch: id });
        return carryOnExecution(deps, id, terms);
      };
      if (!(await this.#try(`the execution of batch ${id}`, id, terms, work))) continue;
      batches += 1;
      tell(deps, { operationId: id, event: 'reconciled', what: 'execution' });
    }
    return { burns, requests, batches };
  }

  /** Takes them one by one, so that several servers share them: none waits for what another is at. */
  async #settleRequests(terms: ReconcileTerms): Promise<Pick<Reconciled, 'burns' | 'requests'>> {
    const deps = this.#deps;
    const tried = new Set<string>();
    let burns = 0;
    let requests = 0;
    while (terms.signal?.aborted !== true) {
      const except = [...tried, ...this.#delayed()];
      const taken = await this.#try('what is pending', 'pending', terms, () =>
        takeBurns(deps, except, terms.tokenId ?? null),
      );
      if (taken === undefined) break;
      const { request, from } = taken;
      const { id } = request;
      tried.add(id);
      tell(deps, { operationId: id, event: 'taken over', from });
      const settled = await this.#try(`the burns of request ${id}`, id, terms, () =>
        settleRequest(deps, request, terms),
      );
      if (settled === undefined || settled === 0) continue;
      burns += settled;
      requests += 1;
      tell(deps, { operationId: id, event: 'reconciled', what: 'burns' });
    }
    return { burns, requests };
  }

  #delayed(): readonly string[] {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#delays].flatMap(([id, { untilMs }]) => (nowMs < untilMs ? [id] : []));
  }

  async #forgetOld({ signal }: ReconcileTerms): Promise<void> {
    const { store, limits } = this.#deps;
    if (utcDay(store.latestMs()) === this.#day) return;
    const day = await store.transaction(async (tx) => {
      const today = utcDay(tx.nowMs);
      await tx.requests.noteDay(today);
      return today;
    });
    // Nobody writes what was done so long ago, and nobody waits for longer than one piece takes.
    const forget = ({ requests }: StoreTransaction): Promise<number> =>
      requests.removeDone(limits.idempotencyRetentionDays, FORGOTTEN_AT_ONCE);
    while ((await store.transaction(forget, { tokenId: null })) === FORGOTTEN_AT_ONCE)
      if (signal?.aborted === true) return;
    this.#day = day;
  }

  /** What fails stays as it is, and keeps nothing else from its end. As long as it fails for the same reason, that is said once. */
  async #try<Result>(
    what: string,
    id: string,
    { signal, onProblem }: ReconcileTerms,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const { clock } = this.#deps;
    const delay = this.#delays.get(id);
    if (signal?.aborted === true || (delay !== undefined && clock.nowMs() < delay.untilMs)) return undefined;
    try {
      const result = await work();
      this.#delays.delete(id);
      return result;
    } catch (error) {
      const failures = (delay?.failures ?? 0) + 1;
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
      const reason = String(error);
      this.#delays.set(id, { failures, untilMs: clock.nowMs() + waitMs, reason });
      if (delay?.reason !== reason) onProblem?.(what, error);
      return undefined;
    }
  }
}

const takeBurns = (
  deps: EngineDeps,
  except: readonly string[],
  tokenId: string | null,
): Promise<TakenRequest | undefined> =>
  deps.store.transaction(
    (tx) => tx.unfinished.takeBurns({ lease: newLease(deps, tx), nowMs: tx.nowMs, except, tokenId }),
    { tokenId: null },
  );

/** Settles what is pending of a request that was just taken. @returns how many burns */
async function settleRequest(deps: EngineDeps, request: RequestRecord, caller: Caller): Promise<number> {
  try {
    return await underLease(deps, requestHolding(request), caller, async (lease) => {
      // What an older copy has pending may have been signed again since, and have landed so.
      await gapWatchOf(deps).requireOf({ request: request.id });
      const { token, pending } = await deps.store.read(async (tx) => ({
        token: await tx.tokens.get(request.tokenId),
        pending: openOf(await tx.burns.ofRequest(request.id)),
      }));
      invariant(token !== undefined, 'Burns are of a token that is never removed.');
      const settled = await settleBurns({ deps, token }, pending, { areNew: false, lease });
      await lease.write((tx) => writeOutcomes(tx, token.id, settled));
      await lease.giveUp();
      return settled.length;
    });
  } catch (error) {
    // Another engine has taken the request, and settles it.
    if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return 0;
    throw error;
  }
}
