/**
 * Engines that die anywhere, and what people and other tools do next, in any order: nothing lands twice, no cap is passed or
 * given back too early, and in the end everything has an outcome that is that of the chain.
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAccount, PROPOSAL } from '../../../../src/chain/squads/accounts.js';
import { proposalAddress } from '../../../../src/chain/squads/addresses.js';
import { dataFiles } from '../../../../src/compose/local-config.js';
import type { Batch, InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import type { Engine } from '../../../../src/engine/engine.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import type { Address } from '../../../../src/values/address.js';
import { RunningClock } from '../../../support/clock.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  passBlocks,
  signApproval,
  signVote,
  type TestEngine,
  tokensOf,
} from '../../../support/engine.js';
import { isLong } from '../../../support/long.js';
import { cancelOutside, closeOutside, executeOutside } from '../../../support/other-tools.js';
import { rawSqlite } from '../../../support/store.js';
import { dyingEngine } from './dying-engine.js';

const VAULT = 30n;
const BURN_WALLET = 30n;
const CAP = 25n;

const which = fc.nat(4);
/** The commit at which the engine dies; later ones than there are let it live. */
const dieAt = fc.nat(14);
const kind = <Kind extends string>(name: Kind) => fc.constant(name);
const step = fc.oneof(
  fc.record({
    kind: kind('init'),
    amounts: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 6 }),
    dieAt,
  }),
  fc.record({ kind: kind('execute'), which, dieAt }),
  fc.record({ kind: kind('cancel'), which, dieAt }),
  fc.record({ kind: kind('burn'), amount: fc.integer({ min: 1, max: 9 }), dieAt }),
  fc.record({ kind: kind('again'), which, dieAt }),
  fc.record({
    kind: kind('outside'),
    which,
    does: fc.constantFrom('execute', 'cancel', 'close'),
    count: fc.nat(3),
  }),
  fc.record({ kind: kind('expire') }),
  fc.record({ kind: kind('nextDay') }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Asked {
  readonly key: string;
  readonly run: (engine: Engine) => Promise<unknown>;
}

class World {
  readonly asked: Asked[] = [];
  readonly inits = new Map<string, InitBatchResult>();
  /** Batches of which others have run something: once closed, nobody can say what. */
  readonly foreign = new Set<string>();
  burnAnswers = new Map<string, bigint>();
  landedToday = 0n;
  landedBefore = 0n;

  constructor(
    readonly test: TestEngine,
    readonly clock: RunningClock,
  ) {}

  async take(one: Step): Promise<void> {
    if (one.kind === 'nextDay') {
      this.clock.passToNextNoon();
      this.landedToday = 0n;
    } else if (one.kind === 'expire') await passBlocks(this.test, 150);
    else if (one.kind === 'outside') await this.#outside(one);
    else await dyingEngine(this.test, one.dieAt, (engine) => this.#ask(engine, one));
    await this.audit();
  }

  async #ask(engine: Engine, one: Step): Promise<void> {
    const { project } = this.test;
    const key = `key-${this.asked.length}`;
    if (one.kind === 'init') {
      const pipelines = one.amounts.map((amount) => aPipeline([burnAction(amount)]));
      await this.#first(engine, key, async (by) => {
        const { value } = await by.initBatch({ pipelines }, project.call({ idempotencyKey: key }));
        this.inits.set(value.batch.id, value);
      });
    } else if (one.kind === 'burn') {
      await this.#first(engine, key, async (by) => {
        await by.burn(aBurnRequest(one.amount), project.call({ idempotencyKey: key }));
        this.burnAnswers.set(key, BigInt(one.amount));
      });
    } else if (one.kind === 'again') await this.asked[one.which % this.asked.length]?.run(engine);
    else if (one.kind === 'execute') {
      const init = [...this.inits.values()][one.which % this.inits.size];
      if (init === undefined) return;
      const signedTx = signApproval(project.owner, init);
      await engine.executeBatch({ batchId: init.batch.id, signedTx }, project.call());
    } else if (one.kind === 'cancel') {
      const { value } = await this.test.engine.listBatches({}, project.call());
      const batch = value.items[one.which % value.items.length];
      if (batch !== undefined && batch.status !== 'EXECUTED') await this.cancel(engine, batch);
    }
  }

  async #first(engine: Engine, key: string, run: Asked['run']): Promise<void> {
    this.asked.push({ key, run });
    await run(engine);
  }

  async cancel(engine: Engine, { id }: Batch): Promise<void> {
    const call = this.test.project.call();
    const { value } = await engine.cancelBatch({ batchId: id }, call);
    if (value.cancelTx === undefined) return;
    const signedTx = signVote(this.test.project.owner, value.cancelTx);
    await engine.cancelBatch({ batchId: id, signedTx }, call);
  }

  async #outside({ which: at, does, count }: Extract<Step, { kind: 'outside' }>): Promise<void> {
    const init = [...this.inits.values()][at % Math.max(1, this.inits.size)];
    if (init === undefined) return;
    const { multisig, batchIndex, id } = init.batch;
    const { address } = proposalAddress(multisig as Address, BigInt(batchIndex));
    const [account] = await this.test.chain.getAccounts([address]);
    const status = account == null ? undefined : decodeAccount(PROPOSAL, account.data)?.status.kind;
    if (does === 'execute' && status === 'Approved' && (await executeOutside(this.test, init, count + 1)))
      this.foreign.add(id);
    if (does === 'cancel' && status === 'Approved') await cancelOutside(this.test, init);
    const isOver = status === 'Executed' || status === 'Cancelled' || status === 'Rejected';
    if (does === 'close' && isOver && !this.foreign.has(id)) await closeOutside(this.test, init);
  }

  async audit(): Promise<void> {
    const { burned, usedToday } = await this.test.engine.status();
    this.landedToday += BigInt(burned) - this.landedBefore;
    this.landedBefore = BigInt(burned);
    expect(this.landedToday).toBeLessThanOrEqual(CAP);
    expect(BigInt(usedToday.burn)).toBeGreaterThanOrEqual(this.landedToday);
  }

  /** Nothing dies any more: every request gets its answer, every batch its end. */
  async end(): Promise<void> {
    const { test } = this;
    for (const { run } of this.asked) await expected(run(test.engine));
    await passBlocks(test, 150);
    for (const { run } of this.asked) await expected(run(test.engine));
    const { value: page } = await test.engine.listBatches({ limit: 200 }, test.project.call());
    let ofBatches = 0n;
    for (const batch of page.items) {
      if (batch.status !== 'EXECUTED') await this.cancel(test.engine, batch);
      const { value } = await test.engine.getBatch({ batchId: batch.id }, test.project.call());
      expect(['EXECUTED', 'FAILED']).toContain(value.status);
      const record = await test.store.read((tx) => tx.batches.get(batch.id));
      const done = record?.pipelines.slice(0, value.executeResult?.totalSuccessful) ?? [];
      ofBatches += done.reduce((sum, { burn }) => sum + burn, 0n);
      expect(await test.store.read((tx) => tx.usage.holdsOf(batch.id))).toEqual([]);
    }
    const { project, chain } = test;
    const ofBurns = [...this.burnAnswers.values()].reduce((sum, amount) => sum + amount, 0n);
    expect(await tokensOf(chain, project, project.registration.vaultAddress)).toBe(VAULT - ofBatches);
    expect(await tokensOf(chain, project, project.registration.burnWallet)).toBe(BURN_WALLET - ofBurns);
    await this.audit();
    const running = "select 1 from requests where status = 'running'";
    expect(rawSqlite(dataFiles(test.dataDir).store, running)).toEqual([]);
  }
}

/** Every refusal is an answer; whatever else is thrown is none. */
async function expected(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isFlywheelError(error) || error.code === 'ERR_INTERNAL') throw error;
  }
}

describe('engines that die', () => {
  it('leave nothing behind that the next one does not bring to its one true end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (list) => {
        const clock = new RunningClock();
        clock.passToNextNoon();
        const tokens = { vaultTokens: String(VAULT), burnWalletTokens: String(BURN_WALLET) };
        const test = await openTestEngine({ decimals: 0, dailyBurn: String(CAP), ...tokens }, { clock });
        try {
          const world = new World(test, clock);
          for (const one of list) await world.take(one);
          await world.end();
        } finally {
          await test.destroy();
        }
      }),
      { numRuns: isLong ? 100 : 8 },
    );
  });
});
