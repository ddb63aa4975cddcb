/** Recovery: finishes the unfinished work of any engine under its lease. Only work with a stored request is resumed. */
import type { RecoveryTerms } from '../contract/admin.js';
import type { StoreTransaction } from '../store/store.js';
import { type UtcDay, utcDay } from '../values/time.js';
import { countVotes } from './batches/batch-context.js';
import { carryOnExecution } from './batches/execute-batch.js';
import { carryOnSetUp } from './batches/init-batch.js';
import { carryOnBurns, watchConfirmed } from './burns/recover.js';
import { type EngineDeps, tell } from './deps.js';
import { storeBehind } from './gap-watch.js';
import type { Caller } from './lease.js';

type Reconciled = Readonly<Record<'burns' | 'requests' | 'batches', number>>;
export type ReconcileTerms = Caller & RecoveryTerms;

const FORGOTTEN_AT_ONCE = 1_000;

const FIRST_RETRY_MS = 15_000;
const MAX_RETRY_MS = 300_000;

export class Reconciler {
  readonly #delays = new Map<string, { failures: number; untilMs: number; reason: string }>();
  #running: Promise<Reconciled> | undefined;
  #day: UtcDay | undefined;

  constructor(private readonly deps: EngineDeps) {}

  /** Requests of burns stay open: a repeat by the client gets the answer and runs the missing elements. */
  run(terms: ReconcileTerms = {}): Promise<Reconciled> {
    this.#running ??= this.#run(terms).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #run(terms: ReconcileTerms): Promise<Reconciled> {
    const deps = this.deps;
    const { tokenId = null } = terms;
    await this.#forgetOld(terms);
    await this.#try('on-chain transactions that the store lacks', 'gaps', terms, async () => {
      for (const gap of await deps.gaps.again())
        await this.#try(`project ${gap.tokenId}`, `gap of ${gap.tokenId}`, terms, () => {
          throw storeBehind(gap);
        });
    });
    await this.#try('burns that are confirmed but not finalized', 'confirmed', terms, async () => {
      const { missing } = await watchConfirmed(deps, { tokenId });
      // Resending a landed transaction has no effect.
      if (missing.length > 0) await deps.chain.submit(missing);
    });
    await this.#try('votes that may have landed', 'votes', terms, () => countVotes(deps, { tokenId }));
    const left = await deps.store.read(({ unfinished }) => unfinished.all(tokenId ?? undefined));
    const done = { burns: 0, requests: 0, batches: 0 };
    // One at a time, so that several servers share the work without waiting for each other.
    for (const [what, of, ids, carryOn] of [
      ['burns', 'request', left.burns, carryOnBurns],
      ['set-up', 'batch', left.setUps, carryOnSetUp],
      ['execution', 'batch', [...left.executions, ...left.closings], carryOnExecution],
    ] as const)
      for (const id of ids) {
        const work = (): Promise<number> => carryOn(deps, id, terms);
        const ended = (await this.#try(`the ${what} of ${of} ${id}`, id, terms, work)) ?? 0;
        if (ended === 0) continue;
        if (of === 'request') {
          done.burns += ended;
          done.requests += 1;
        } else done.batches += 1;
        tell(deps, { operationId: id, event: 'reconciled', what });
      }
    return done;
  }

  async #forgetOld({ signal }: ReconcileTerms): Promise<void> {
    const { store, limits } = this.deps;
    if (utcDay(store.latestMs()) === this.#day) return;
    const day = await store.transaction(async (tx) => {
      const today = utcDay(tx.nowMs);
      await tx.requests.noteDay(today);
      return today;
    });
    // In pieces, because a long transaction would block other writers.
    const forget = ({ requests }: StoreTransaction): Promise<number> =>
      requests.removeDone(limits.idempotencyRetentionDays, FORGOTTEN_AT_ONCE);
    while ((await store.transaction(forget, { tokenId: null })) === FORGOTTEN_AT_ONCE)
      if (signal?.aborted === true) return;
    this.#day = day;
  }

  async #try<Result>(
    what: string,
    id: string,
    { signal, onProblem }: ReconcileTerms,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const { clock } = this.deps;
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
