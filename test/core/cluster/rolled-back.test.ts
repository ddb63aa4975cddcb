/** A cluster that rolls back confirmed blocks: everything happens once, and answers name the transaction that is on chain. */
import { describe, expect, it } from 'vitest';
import { costLamports } from '../../../src/contract/call.js';
import type { ExecuteResult, InitBatchResult } from '../../../src/contract/schemas/batch.js';
import { address } from '../../../src/values/address.js';
import { aBurnRequest, aPipeline, burnAction, signVote, supplyOf, tokensOf } from '../../support/engine.js';
import { itLong, sampleOf } from '../../support/long.js';
import type { FaultRule } from '../../test-cluster/faults.js';
import { openOnCluster } from './on-cluster.js';

type Cluster = Awaited<ReturnType<typeof openOnCluster>>;

const UNIT = 1_000_000n;
/** Slots until a block is final: enough for a whole batch on a fork. */
const FINALIZED_AFTER = 60;
const LOOK_SLOTS = 5;
const CALL = { idempotencyKey: '6f1c2a58-52e3-4b1d-9d50-0b7a3f1f6a11' };
const WAYS = [
  ['and is forgotten', true],
  ['and comes again', false],
] as const;
const onFork = (slots: number, lost: boolean): FaultRule => ({ fault: 'rollback', times: 1, slots, lost });

/** Whether nothing can be rolled back any more, and no rollback is unresolved. */
async function isSettled({ test }: Cluster): Promise<boolean> {
  const { store } = test.deps;
  return store.read(async (tx) => (await tx.burns.open()).length === 0);
}

async function untilSettled(under: Cluster): Promise<void> {
  do {
    under.node.advance(LOOK_SLOTS);
    await under.engine.reconcile();
  } while (!(await isSettled(under)));
}

async function usedOf({ test }: Cluster): Promise<bigint> {
  const { tokenId } = test.project.registration;
  return test.deps.store.read(async (tx) => {
    const day = await tx.usage.latestDay(tokenId);
    return day === undefined ? 0n : tx.usage.used({ tokenId, day, kind: 'burn' });
  });
}

const PIPELINES = [3, 4].map((amount) => aPipeline([burnAction(amount)]));

const initBatch = async ({ service, test }: Cluster): Promise<InitBatchResult> =>
  (await service.initBatch({ pipelines: PIPELINES }, test.project.call(CALL))).value;

async function executeBatch(
  { service, test: { project } }: Cluster,
  { batch, proposalApproveTx }: InitBatchResult,
): Promise<ExecuteResult> {
  const signedTx = signVote(project.owner, proposalApproveTx);
  return (await service.executeBatch({ batchId: batch.id, signedTx }, project.call())).value.result;
}

/** State before a batch of {@link PIPELINES}: base units of the mint, lamports of the operator. */
async function holdings(under: Cluster): Promise<{ readonly supply: bigint; readonly lamports: bigint }> {
  const { project, chain } = under.test;
  const [operator] = await chain.getAccounts([address(project.registration.operator)]);
  return { supply: await supplyOf(under, project), lamports: operator?.lamports ?? 0n };
}

async function expectExecuted(
  under: Cluster,
  batchId: string,
  result: ExecuteResult,
  before: Awaited<ReturnType<typeof holdings>>,
): Promise<void> {
  const { project, chain } = under.test;
  const after = await holdings(under);
  const { value: batch, meta } = await under.service.getBatch({ batchId }, project.call());
  expect(batch).toMatchObject({ status: 'EXECUTED', executeResult: result });
  expect(before.lamports - after.lamports).toBe(costLamports(meta.cost ?? expect.fail()));
  expect(result).toMatchObject({ total: 2, totalSuccessful: 2, totalFailed: 0 });
  expect(before.supply - after.supply).toBe(7n * UNIT);
  expect(await usedOf(under)).toBe(7n * UNIT);
  expect(await tokensOf(under.test.chain, project, project.registration.vaultAddress)).toBe(999_993n * UNIT);
  const hashes = result.successfulExecutions.flatMap(({ txHashes }) => txHashes);
  expect((await chain.lookUp(hashes)).map((record) => record?.error)).toEqual([null, null]);
}

describe('what a fork has taken back', () => {
  it.each(sampleOf(WAYS, 1))(
    'a burn that is taken back %s burns once',
    async (_what, lost) => {
      const under = await openOnCluster({ finalizedAfter: FINALIZED_AFTER });
      const { service, node, test } = under;
      const { project } = test;
      const before = await supplyOf(under, project);
      const used = await usedOf(under);
      node.faults.set([onFork(30, lost)]);
      const burn = aBurnRequest(5);
      const first = await service.burn(burn, project.call(CALL));
      expect(await supplyOf(under, project)).toBe(before);

      await untilSettled(under);
      const again = await service.burn(burn, project.call(CALL));
      expect(before - (await supplyOf(under, project))).toBe(5n * UNIT);
      expect((await usedOf(under)) - used).toBe(5n * UNIT);
      expect((await test.chain.lookUp([again.value.txHash]))[0]).toMatchObject({ error: null });
      expect(again.value.hash).toBe(first.value.hash);
      expect(node.failures).toEqual([]);
    },
    60_000,
  );

  it('a burn that cannot land any more is signed anew, and a repeat is told the new signature', async () => {
    const under = await openOnCluster({ finalizedAfter: FINALIZED_AFTER });
    const { service, node, test } = under;
    const { project } = test;
    const before = await supplyOf(under, project);
    // A resent transaction waits until its blockhash has expired.
    node.faults.set([onFork(10, true), { fault: 'expire', times: 1, after: 1 }]);
    const burns = [5, 7].map((burnAmount) => aBurnRequest(burnAmount));
    const first = await service.burnBatch(burns, project.call(CALL));
    await untilSettled(under);
    const again = await service.burnBatch(burns, project.call(CALL));
    const hashes = again.value.success.map(({ txHash }) => txHash);
    expect(hashes).toHaveLength(2);
    expect(hashes).not.toEqual(first.value.success.map(({ txHash }) => txHash));
    expect((await test.chain.lookUp(hashes)).map((record) => record?.error)).toEqual([null, null]);
    expect(before - (await supplyOf(under, project))).toBe(12n * UNIT);
    expect(await usedOf(under)).toBe(12n * UNIT);
  }, 60_000);

  itLong.each(WAYS)(
    'the set-up of a batch that is taken back %s is answered when it stands for good',
    async (_what, lost) => {
      const under = await openOnCluster({ finalizedAfter: FINALIZED_AFTER });
      const before = await holdings(under);
      under.node.faults.set([onFork(50, lost)]);
      const started = await initBatch(under);
      await expectExecuted(under, started.batch.id, await executeBatch(under, started), before);
    },
    60_000,
  );

  it('a batch whose execution is taken back, votes and all, is answered when it stands for good', async () => {
    const under = await openOnCluster({ finalizedAfter: FINALIZED_AFTER });
    const before = await holdings(under);
    const started = await initBatch(under);
    under.node.faults.set([onFork(50, true)]);
    await expectExecuted(under, started.batch.id, await executeBatch(under, started), before);
  }, 60_000);
});
