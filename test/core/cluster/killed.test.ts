/**
 * Kills an engine on a cluster before or after any of its network calls; another engine takes over. Every burn happens once, the
 * batch reaches its one final state, and the audit finds no error.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import type { Uuid } from '../../../src/values/ids.js';
import { aBurnRequest, aPipeline, burnAction, signVote, supplyOf, tokensOf } from '../../support/engine.js';
import { sampleOf } from '../../support/long.js';
import { type Death, Lives } from './killed-engine.js';
import { openOnCluster } from './on-cluster.js';

const UNIT = 1_000_000n;
/** `KILL_AT=17` tries that call only. */
const WHERE = process.env['KILL_AT'];
/** Number of kill points, spread over all calls. */
const SOME = 3;
const MAX_TRIES = 20;

type Under = Awaited<ReturnType<typeof openOnCluster>>;

/** The steps of one project; each can be repeated under its key. */
function asked({ test: { project } }: Under) {
  const keys = { burn: randomUUID(), burns: randomUUID(), init: randomUUID() };
  const one = aBurnRequest(1);
  const burns = [2, 3].map((burnAmount) => aBurnRequest(burnAmount));
  const pipelines = [4, 5].map((amount) => aPipeline([burnAction(amount)]));
  const call = (idempotencyKey: string) => project.call({ idempotencyKey });
  return {
    burn: async (engine: Engine) => (await engine.burn(one, call(keys.burn))).value.txHash,
    burns: async (engine: Engine) =>
      (await engine.burnBatch(burns, call(keys.burns))).value.success.map(({ txHash }) => txHash),
    init: async (engine: Engine) => (await engine.initBatch({ pipelines }, call(keys.init))).value,
    execute: async (engine: Engine, batchId: Uuid, signedTx: string) =>
      (await engine.executeBatch({ batchId, signedTx }, project.call())).value.result,
  };
}

const isOpen = (error: unknown): boolean =>
  isFlywheelError(error) &&
  ['ERR_UNAVAILABLE', 'ERR_DUPLICATE_IDEMPOTENCY_KEY', 'ERR_BATCH_IN_PROGRESS'].includes(error.code);

/** Repeats on the next engine when one dies; every second time that engine recovers first. */
async function untilAnswered<Value>(
  lives: Lives,
  isReconciled: boolean,
  ask: (engine: Engine) => Promise<Value>,
): Promise<Value> {
  let last: unknown;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const engine = lives.engine();
    try {
      if (tries > 0 && isReconciled) await engine.reconcile();
      return await ask(engine);
    } catch (error) {
      if (!lives.hasDied && !isOpen(error)) throw error;
      last = error;
    }
  }
  throw new TypeError('It never came to its end.', { cause: last });
}

async function live(death: Death | null): Promise<number> {
  const closings: (() => Promise<void>)[] = [];
  const under = await openOnCluster({}, (close) => closings.push(close));
  const { test, node } = under;
  const { project } = test;
  const before = await supplyOf(under, project);
  const lives = new Lives(test, node, death);
  const steps = asked(under);
  const isReconciled = (death?.call ?? 0) % 2 === 0;
  const step = <Value>(ask: (engine: Engine) => Promise<Value>): Promise<Value> =>
    untilAnswered(lives, isReconciled, ask);

  const burned = [await step(steps.burn), ...(await step(steps.burns))];
  const started = await step(steps.init);
  const signedTx = signVote(project.owner, started.proposalApproveTx);
  const result = await step((engine) => steps.execute(engine, started.batch.id, signedTx));

  expect(result).toMatchObject({ total: 2, totalSuccessful: 2, totalFailed: 0 });
  const calls = lives.calls;
  // An answer does not wait for failed account closings; recovery completes them.
  await step((engine) => engine.reconcile());
  expect(await step((engine) => engine.reconcile())).toEqual({ burns: 0, requests: 0, batches: 0 });
  expect(new Set(burned).size).toBe(3);
  expect(before - (await supplyOf(under, project))).toBe(15n * UNIT);
  expect(await tokensOf(under.test.chain, project, project.registration.vaultAddress)).toBe(999_991n * UNIT);
  expect((await test.engine.listBatches({}, project.call())).value.items).toMatchObject([
    { status: 'EXECUTED' },
  ]);
  expect(node.failures).toEqual([]);
  for (const close of closings) await close();
  return calls;
}

function deaths(calls: number): readonly Death[] {
  const at = (call: number): Death[] => [
    { call, when: 'before' },
    { call, when: 'after' },
  ];
  if (WHERE !== undefined) return at(Number(WHERE));
  return sampleOf(Array.from({ length: calls }, (_, index) => at(index + 1)).flat(), SOME);
}

const calls = await live(null);

describe(`an engine that dies at one of its ${calls} calls`, () => {
  it.each(deaths(calls))(
    'leaves what another one brings to its end: $when call $call',
    async (death) => {
      await live(death);
    },
    120_000,
  );
});
