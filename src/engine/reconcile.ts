/**
 * What any engine left unfinished is brought to its end: pending burns are settled, batches that were half set up or half
 * executed are carried on. Each is taken under its lease, so that nobody else is at it, and nothing is begun that was not asked
 * for: every step of it was written down before.
 */
import type { RecoveryTerms } from '../contract/recovery.js';
import { isFlywheelError } from '../errors/flywheel-error.js';
import { type UtcDay, utcDay } from '../values/time.js';
import { carryOnExecution } from './batches/execute-batch.js';
import { carryOnSetUp } from './batches/init-batch.js';
import { settleBurns, writeOutcomes } from './burns/chunk.js';
import type { EngineDeps } from './deps.js';
import { tell } from './events.js';
import { gapWatchOf, storeBehind } from './gaps/gap-watch.js';
import { watchLandings } from './landings/watch.js';
import { type Caller, underLease } from './lease.js';
import { abandonRequest, claimRequest, isWorkedOn, requestHolding } from './requests/requests.js';

export interface Reconciled {
  /** Burns that have an outcome now. */
  readonly burns: number;
  /** Requests that had some. */
  readonly requests: number;
  /** Batches that were carried on to where they wait for somebody, or to their end. */
  readonly batches: number;
}

/** How it is done. */
export type ReconcileTerms = Caller & RecoveryTerms;

/** What fails is tried again after so long, and after twice as long each time that it fails. */
const FIRST_RETRY_MS = 15_000;
const MAX_RETRY_MS = 3_600_000;

/** Work that has failed before. */
interface Delay {
  readonly failures: number;
  readonly untilMs: number;
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
    const gaps = gapWatchOf(deps);
    await this.#forgetOld();
    await this.#try('what the chain knows more than the store', 'gaps', terms, async () => {
      for (const gap of await gaps.again()) terms.onProblem?.(`project ${gap.tokenId}`, storeBehind(gap));
    });
    await this.#try('what has landed and is not final', 'landings', terms, () => watchLandings(deps));
    const left = await deps.store.read(async ({ unfinished }) => ({
      burns: await unfinished.burnRequests(),
      setUps: await unfinished.setUps(),
      executions: [...(await unfinished.executions()), ...(await unfinished.closings())],
    }));
    let burns = 0;
    let requests = 0;
    for (const id of left.burns) {
      const settled = await this.#try(`the burns of request ${id}`, id, terms, async () => {
        // What an older copy has pending may have been signed again since, and have landed so.
        await gaps.requireOf({ request: id });
        return settleRequest(deps, id, terms);
      });
      burns += settled ?? 0;
      if (settled === undefined || settled === 0) continue;
      requests += 1;
      tell(deps, { operationId: id, event: 'reconciled', what: 'burns' });
    }
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

  async #forgetOld(): Promise<void> {
    const { store, limits } = this.#deps;
    if (utcDay(store.latestMs()) === this.#day) return;
    this.#day = await store.transaction(async (tx) => {
      const day = utcDay(tx.nowMs);
      await tx.requests.noteDay(day);
      await tx.requests.removeDone(limits.idempotencyRetentionDays);
      return day;
    });
  }

  /** What fails stays as it is, and keeps nothing else from its end. */
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
      this.#delays.set(id, { failures, untilMs: clock.nowMs() + waitMs });
      onProblem?.(what, error);
      return undefined;
    }
  }
}

/** Settles what is pending of a request. @returns how many burns */
async function settleRequest(deps: EngineDeps, requestId: string, caller: Caller): Promise<number> {
  const taken = await deps.store.transaction(async (tx) => {
    const current = await tx.requests.get(requestId);
    if (current?.status !== 'running' || isWorkedOn(deps, tx, current)) return undefined;
    const pending = (await tx.burns.ofRequest(requestId)).filter(({ status }) => status === 'PENDING');
    const token = await tx.tokens.get(current.tokenId);
    if (pending.length === 0 || token === undefined) return undefined;
    return { pending, token, request: await claimRequest(deps, tx, current) };
  });
  if (taken === undefined) return 0;
  const { pending, token, request } = taken;
  try {
    return await underLease(deps, requestHolding(request), caller, async (lease) => {
      const settled = await settleBurns({ deps, token }, pending, { areNew: false, lease });
      await deps.store.transaction(async (tx) => {
        await lease.renew(tx);
        await writeOutcomes(tx, token.id, settled);
      });
      return settled.length;
    });
  } catch (error) {
    // Another engine has taken the request, and settles it.
    if (isFlywheelError(error, 'ERR_DUPLICATE_IDEMPOTENCY_KEY')) return 0;
    throw error;
  } finally {
    await abandonRequest(deps, request);
  }
}
