/** Batches under any order of calls: every state follows from the previous one, and the audit finds no error. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Batch, InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { BATCH_TRANSITIONS } from '../../../../src/store/repositories/batches.js';
import { RunningClock } from '../../../support/clock.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  signVote,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';
import { isLong } from '../../../support/long.js';

const VAULT = 20n;
const BURN_WALLET = 20n;
const CAP = 30n;

type Step =
  | { readonly kind: 'init'; readonly amounts: readonly number[] }
  | { readonly kind: 'execute'; readonly which: number; readonly twice: boolean }
  | { readonly kind: 'cancel'; readonly which: number }
  | { readonly kind: 'burn'; readonly amount: number }
  | { readonly kind: 'nextDay' };

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('init' as const),
      amounts: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
    }),
    fc.record({ kind: fc.constant('execute' as const), which: fc.nat(5), twice: fc.boolean() }),
    fc.record({ kind: fc.constant('cancel' as const), which: fc.nat(5) }),
    fc.record({ kind: fc.constant('burn' as const), amount: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant('nextDay' as const) }),
  ),
  { minLength: 1, maxLength: 12 },
);

const init = (...amounts: readonly number[]): Step => ({ kind: 'init', amounts });
const execute = (which: number): Step => ({ kind: 'execute', which, twice: false });

/** Two batches that the vault cannot pay for together: the second fails, and its rest stays executable. */
const FAILING: readonly Step[][] = [
  [init(1, 2), init(1, 6, 6, 4, 1), execute(0), execute(1)],
  [init(3, 1), init(3, 3, 5, 6), execute(3), execute(0)],
  [init(3, 1), init(3, 3, 5, 6), execute(1), execute(0), { kind: 'nextDay' }, { kind: 'cancel', which: 0 }],
];

/** Errors that an honest client may meet here. */
const EXPECTED = new Set([
  'ERR_INSUFFICIENT_FUNDS',
  'ERR_BURN_TOKENOMICS_FAILED',
  'ERR_DAILY_LIMIT_EXCEEDED',
  // Cap and balance at once.
  'ERR_INVALID_REQUEST',
  'ERR_BATCH_IN_PROGRESS',
]);

interface Known {
  readonly init: InitBatchResult;
  readonly day: number;
}

const amountsOf = ({ batch }: InitBatchResult): readonly bigint[] =>
  batch.pipelines.map(({ actions }) => BigInt((actions[0] as { amount: number }).amount));
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

const expected = async <Value>(work: Promise<Value>): Promise<Value | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isFlywheelError(error) && EXPECTED.has(error.code)) return undefined;
    throw error;
  }
};

class World {
  readonly batches: Known[] = [];
  readonly seen = new Map<string, Batch>();
  readonly landed = new Map<number, bigint>();
  day = 0;
  burned = 0n;

  constructor(
    readonly test: TestEngine,
    readonly clock: RunningClock,
  ) {}

  async take(step: Step): Promise<void> {
    const { engine, project } = this.test;
    if (step.kind === 'init') {
      const pipelines = step.amounts.map((amount) => aPipeline([burnAction(amount)]));
      const reply = await expected(engine.initBatch({ pipelines }, project.call()));
      if (reply !== undefined) this.batches.push({ init: reply.value, day: this.day });
    } else if (step.kind === 'burn') {
      const reply = await expected(engine.burn(aBurnRequest(step.amount), project.call()));
      if (reply !== undefined) {
        this.burned += BigInt(step.amount);
        this.#land(BigInt(step.amount));
      }
    } else if (step.kind === 'nextDay') {
      this.clock.passToNextNoon();
      this.day += 1;
    } else {
      const known = this.batches[step.which % Math.max(1, this.batches.length)];
      if (known === undefined) return;
      if (step.kind === 'cancel') await this.#cancel(known.init);
      else await this.#execute(known.init, step.twice);
    }
    await this.check();
  }

  async #execute(init: InitBatchResult, twice: boolean): Promise<void> {
    const { engine, project } = this.test;
    const { id: batchId } = init.batch;
    // A batch of another day has expired.
    const isWaiting = (await engine.getBatch({ batchId }, project.call())).value.status === 'FINALIZED';
    const approval = isWaiting ? (await engine.issueApproval({ batchId }, project.call())).value : init;
    const input = { batchId, signedTx: signApproval(project.owner, approval) };
    const run = () => expected(engine.executeBatch(input, project.call()));
    await Promise.all(twice ? [run(), run()] : [run()]);
  }

  async #cancel({ batch }: InitBatchResult): Promise<void> {
    const { engine, project } = this.test;
    if (this.seen.get(batch.id)?.status === 'EXECUTED') return;
    const cancel = (more = {}) => engine.cancelBatch({ batchId: batch.id, ...more }, project.call());
    const { value } = await cancel();
    if (value.cancelTx !== undefined) await cancel({ signedTx: signVote(project.owner, value.cancelTx) });
  }

  #land(amount: bigint): void {
    this.landed.set(this.day, (this.landed.get(this.day) ?? 0n) + amount);
  }

  async check(): Promise<void> {
    const { engine, chain, project } = this.test;
    let executed = 0n;
    let mayLand = 0n;
    let newestOpen: string | undefined;
    for (const { init, day } of this.batches) {
      const { value } = await engine.getBatch({ batchId: init.batch.id }, project.call());
      const before = this.seen.get(value.id)?.executeResult?.totalSuccessful ?? 0;
      this.#checkMove(value);
      const amounts = amountsOf(init);
      const done = value.executeResult?.totalSuccessful ?? 0;
      this.#land(sum(amounts.slice(before, done)));
      executed += sum(amounts.slice(0, done));
      // A waiting batch counts on the day of its init; the rest of a failed batch counts every day until it is cancelled.
      const counts = value.status === 'FINALIZED' ? day === this.day : value.dateCancelled === undefined;
      if (counts) mayLand += sum(amounts.slice(done));
      if (value.status === 'FINALIZED') newestOpen = value.id;
    }
    expect((await engine.currentBatch(project.call())).value?.id).toBe(newestOpen);
    const { burned, usedToday } = await engine.status();
    const used = (this.landed.get(this.day) ?? 0n) + mayLand;
    expect([burned, usedToday.burn]).toEqual([String(executed + this.burned), String(used)]);
    expect(used).toBeLessThanOrEqual(CAP);
    expect(await tokensOf(chain, project, project.registration.vaultAddress)).toBe(VAULT - executed);
    expect(await tokensOf(chain, project, project.registration.burnWallet)).toBe(BURN_WALLET - this.burned);
  }

  /** A state stays, or changes as the table permits; a final result never changes. */
  #checkMove(now: Batch): void {
    const before = this.seen.get(now.id);
    this.seen.set(now.id, now);
    expect(now.initResult !== undefined).toBe(true);
    expect(now.executeResult !== undefined).toBe(now.status === 'EXECUTED' || now.status === 'FAILED');
    if (before === undefined) return;
    if (before.status === now.status) {
      const isCancelled = before.dateCancelled === undefined && now.dateCancelled !== undefined;
      const dates = { dateCancelled: now.dateCancelled, dateUpdated: now.dateCancelled };
      expect(now).toEqual(isCancelled ? { ...before, status: 'FAILED', ...dates } : before);
      return;
    }
    expect(BATCH_TRANSITIONS).toContainEqual([before.status, now.status]);
    const { total, totalSuccessful, totalFailed } = now.executeResult ?? expect.fail();
    expect(totalSuccessful + totalFailed).toBe(total);
    expect(now.status === 'EXECUTED').toBe(totalFailed === 0);
  }
}

describe('batches', () => {
  it('keep to their states and their books, whatever is called in whichever order', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const clock = new RunningClock();
        clock.passToNextNoon();
        const input = {
          decimals: 0,
          vaultTokens: String(VAULT),
          burnWalletTokens: String(BURN_WALLET),
          dailyBurn: String(CAP),
        };
        const test = await openTestEngine(input, { clock });
        try {
          const world = new World(test, clock);
          for (const step of list) await world.take(step);
        } finally {
          await test.destroy();
        }
      }),
      { numRuns: isLong ? 100 : 10, examples: FAILING.map((list): [Step[]] => [list]) },
    );
  });
});
