/**
 * Batches through a block engine: the tip is listed and not counted, and whatever the engine does or says, every pipeline runs
 * once. No public test cluster has a block engine; this one stands in for it.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { tipLamports } from '../../src/engine/batches/tip.js';
import { isFlywheelError } from '../../src/errors/flywheel-error.js';
import {
  type BundleFate,
  closeBlockEngines,
  type StubBlockEngine,
  stubBlockEngine,
} from '../support/block-engine.js';
import { aPipeline } from '../support/examples.js';
import { openOnCluster, signApproval, supplyOf } from '../support/service.js';

afterEach(closeBlockEngines);

const UNIT = 1_000_000n;

async function open(options: Parameters<typeof stubBlockEngine>[2] = {}) {
  let engine: StubBlockEngine | undefined;
  const under = await openOnCluster([], 1, undefined, 4, async (node, { project }) => {
    engine = await stubBlockEngine(node.url, project.owner.address, options);
    return { blockEngine: engine.address, maxPriorityFeeLamports: 0n };
  });
  if (engine === undefined) throw new TypeError('There is a block engine.');
  return { ...under, blockEngine: engine };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Asks again with the same key while nothing is known. */
async function untilKnown<Value>(ask: () => Promise<Value>): Promise<Value> {
  for (let call = 0; ; call += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!isFlywheelError(error, 'ERR_UNAVAILABLE') || call === 20) throw error;
    }
  }
}

/** Sets a batch of six pipelines up and runs it. */
async function runBatch({ service, test }: Opened) {
  const { project } = test;
  const pipelines = [1, 2, 3, 4, 5, 6].map((amount) => aPipeline({ actions: [{ action: 'BURN', amount }] }));
  const call = project.call({ idempotencyKey: randomUUID() });
  const { value: init } = await untilKnown(() => service.initBatch({ pipelines }, call));
  const batchId = init.batch.id;
  const execute = async () => {
    const { value } = await service.issueApproval({ batchId }, project.call());
    const signedTx = signApproval(value.proposalApproveTx, project.owner);
    return service.executeBatch({ batchId, signedTx }, project.call());
  };
  const { value: executed, meta } = await execute();
  return { setUp: init.batch.initResult, executed: executed.result, meta };
}

const sizes = (executions: readonly { readonly txHashes: readonly string[] }[] = []) =>
  executions.map(({ txHashes }) => txHashes.length);

describe('through a block engine', () => {
  it('four transactions and a tip share a bundle; the tip is listed and counted nowhere', async () => {
    const under = await open();
    const before = await supplyOf(under, under.test.project);
    const { setUp, executed } = await runBatch(under);
    expect(setUp).toMatchObject({ total: 4, totalSuccessful: 4, totalFailed: 0 });
    expect(executed).toMatchObject({ total: 6, totalSuccessful: 6, totalFailed: 0 });
    expect(sizes(setUp?.successfulExecutions)).toEqual([2, 4]);
    expect(sizes(executed.successfulExecutions)).toEqual([5, 3]);
    expect(before - (await supplyOf(under, under.test.project))).toBe(21n * UNIT);
    const tips = [...(setUp?.successfulExecutions ?? []), ...executed.successfulExecutions].map(
      ({ txHashes }) => txHashes.at(-1) ?? '',
    );
    for (const tip of tips) {
      const bytes = await under.test.chain.getTransaction(tip);
      expect(tipLamports(bytes ?? new Uint8Array(8))).toBe(20_000n);
    }
    expect(new Set(under.blockEngine.methods)).toEqual(new Set(['getTipAccounts', 'sendBundle']));
    await under.dispose();
  }, 60_000);

  it('no tip is above what is allowed, and none below what is taken', async () => {
    for (const [options, lamports] of [
      [{ floorSol: 3, maxTipLamports: 7_000n }, 7_000n],
      [{ floorSol: 0 }, 1_000n],
    ] as const) {
      const under = await open(options);
      expect(await under.chain.tips?.next()).toEqual({ account: under.test.project.owner.address, lamports });
      await under.dispose();
    }
  }, 60_000);

  it.each<[string, readonly BundleFate[]]>([
    ['drops bundles and says that they landed', ['drop', 'accept', 'drop']],
    ['lands half of a bundle', ['accept', 'half', 'accept', 'half']],
    ['limits how often it is asked', ['busy', 'accept', 'busy', 'busy']],
    ['refuses one', ['accept', 'refuse']],
    ['drops one until its blockhash is too old', ['accept', ...new Array<BundleFate>(6).fill('drop')]],
  ])(
    'every pipeline runs once where the engine %s',
    async (_how, fates) => {
      const under = await open();
      const before = await supplyOf(under, under.test.project);
      under.blockEngine.fates.push(...fates);
      const { setUp, executed } = await runBatch(under);
      expect(setUp).toMatchObject({ total: 4, totalSuccessful: 4 });
      expect(executed).toMatchObject({ total: 6, totalSuccessful: 6 });
      expect(before - (await supplyOf(under, under.test.project))).toBe(21n * UNIT);
      expect(under.blockEngine.fates).toEqual([]);
      await under.dispose();
    },
    60_000,
  );
});

it('without one a bundle is one transaction, in order, and says so', async () => {
  const under = await openOnCluster();
  const { setUp, executed } = await runBatch(under as Opened);
  expect(sizes(setUp?.successfulExecutions)).toEqual(new Array(4).fill(1));
  expect(sizes(executed.successfulExecutions)).toEqual(new Array(6).fill(1));
  await under.dispose();
}, 60_000);
