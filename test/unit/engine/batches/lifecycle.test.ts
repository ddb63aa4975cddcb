/** The life of batches under any order of calls: every state follows from the one before, and the books always balance. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Batch, InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { BATCH_TRANSITIONS } from '../../../../src/store/store.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';

const VAULT = 20n;
const BURN_WALLET = 20n;
const CAP = 30n;

type Step =
  | { readonly kind: 'init'; readonly amounts: readonly number[] }
  | { readonly kind: 'execute'; readonly which: number; readonly twice: boolean }
  | { readonly kind: 'burn'; readonly amount: number };

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('init' as const),
      amounts: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
    }),
    fc.record({ kind: fc.constant('execute' as const), which: fc.nat(5), twice: fc.boolean() }),
    fc.record({ kind: fc.constant('burn' as const), amount: fc.integer({ min: 1, max: 9 }) }),
  ),
  { minLength: 1, maxLength: 10 },
);

/** Errors that an honest client may meet here. */
const EXPECTED = new Set([
  'ERR_INSUFFICIENT_FUNDS',
  'ERR_BURN_TOKENOMICS_FAILED',
  'ERR_DAILY_LIMIT_EXCEEDED',
  // Cap and balance at once.
  'ERR_INVALID_REQUEST',
  'ERR_BATCH_IN_PROGRESS',
]);

const expected = async <Value>(work: Promise<Value>): Promise<Value | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (isFlywheelError(error) && EXPECTED.has(error.code)) return undefined;
    throw error;
  }
};

class World {
  readonly inits: InitBatchResult[] = [];
  readonly seen = new Map<string, Batch>();
  burned = 0n;

  constructor(readonly test: TestEngine) {}

  async take(step: Step): Promise<void> {
    const { engine, project } = this.test;
    if (step.kind === 'init') {
      const pipelines = step.amounts.map((amount) => aPipeline([burnAction(amount)]));
      const reply = await expected(engine.initBatch({ pipelines }, project.call()));
      if (reply !== undefined) this.inits.push(reply.value);
    } else if (step.kind === 'burn') {
      const reply = await expected(engine.burn(aBurnRequest(step.amount), project.call()));
      if (reply !== undefined) this.burned += BigInt(step.amount);
    } else {
      const init = this.inits[step.which % Math.max(1, this.inits.length)];
      if (init === undefined) return;
      const input = { batchId: init.batch.id, signedTx: signApproval(project.owner, init) };
      const run = () => expected(engine.executeBatch(input, project.call()));
      await Promise.all(step.twice ? [run(), run()] : [run()]);
    }
    await this.check();
  }

  async check(): Promise<void> {
    const { engine, chain, project } = this.test;
    let executed = 0n;
    let reserved = 0n;
    let newestOpen: string | undefined;
    for (const { batch } of this.inits) {
      const { value } = await engine.getBatch({ batchId: batch.id }, project.call());
      this.#checkMove(value);
      const amounts = batch.pipelines.map(({ actions }) => BigInt((actions[0] as { amount: number }).amount));
      const done = value.executeResult?.totalSuccessful ?? 0;
      executed += amounts.slice(0, done).reduce((sum, amount) => sum + amount, 0n);
      reserved += (value.status === 'FINALIZED' ? amounts : amounts.slice(0, done)).reduce(
        (a, b) => a + b,
        0n,
      );
      if (value.status === 'FINALIZED') newestOpen = value.id;
    }
    expect((await engine.currentBatch(project.call())).value?.id).toBe(newestOpen);
    const { burned, usedToday } = await engine.status();
    expect([burned, usedToday.burn]).toEqual([
      String(executed + this.burned),
      String(reserved + this.burned),
    ]);
    expect(reserved + this.burned).toBeLessThanOrEqual(CAP);
    expect(await tokensOf(chain, project, project.registration.vaultAddress)).toBe(VAULT - executed);
    expect(await tokensOf(chain, project, project.registration.burnWallet)).toBe(BURN_WALLET - this.burned);
  }

  /** A state is kept, or left along the table; a verdict never changes. */
  #checkMove(now: Batch): void {
    const before = this.seen.get(now.id);
    this.seen.set(now.id, now);
    expect(now.initResult !== undefined).toBe(true);
    expect(now.executeResult !== undefined).toBe(now.status === 'EXECUTED' || now.status === 'FAILED');
    if (before === undefined || before.status === now.status) {
      if (before !== undefined) expect(now).toEqual(before);
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
        const test = await openTestEngine({
          decimals: 0,
          vaultTokens: String(VAULT),
          burnWalletTokens: String(BURN_WALLET),
          dailyBurn: String(CAP),
        });
        try {
          const world = new World(test);
          for (const step of list) await world.take(step);
        } finally {
          await test.destroy();
        }
      }),
      { numRuns: 25 },
    );
  });
});
