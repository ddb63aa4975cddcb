/** A cluster that takes back what it had confirmed: everything happens once all the same, and answers name what stands on chain. */
import { describe, expect, it } from 'vitest';
import type { ExecuteResult, InitBatchResult } from '../../../src/contract/schemas/batch.js';
import { isFlywheelError } from '../../../src/errors/flywheel-error.js';
import { address } from '../../../src/values/address.js';
import { aBurn, aPipeline } from '../../support/examples.js';
import { itLong } from '../../support/long.js';
import { balanceOf, openOnCluster, signApproval, supplyOf } from '../../support/service.js';
import type { FaultRule } from '../../support/test-cluster/faults.js';

type Cluster = Awaited<ReturnType<typeof openOnCluster>>;

const UNIT = 1_000_000n;
/** Slots until a block is final: time for a whole batch on a fork. */
const FINALIZED_AFTER = 60;
/** Slots between two looks. */
const LOOK_SLOTS = 5;
const CALL = { idempotencyKey: '6f1c2a58-52e3-4b1d-9d50-0b7a3f1f6a11' };
/** What a batch is refused with while what it rests on is not there. */
const NOT_YET = [
  'ERR_UNAVAILABLE',
  'ERR_DUPLICATE_IDEMPOTENCY_KEY',
  'ERR_BATCH_IN_PROGRESS',
  'ERR_BATCH_NOT_FINALIZED',
  'ERR_BATCH_EXECUTE_FAILED',
  'ERR_APPROVAL_EXPIRED',
  'ERR_INVALID_SIGNED_TX',
];

const onFork = (slots: number, lost: boolean): FaultRule => ({ fault: 'rollback', times: 1, slots, lost });

/** Is nothing left that the chain may take back, and nothing that it has? */
async function isSettled({ test }: Cluster): Promise<boolean> {
  const { store } = test.deps;
  return store.read(async (tx) => {
    const burns = [];
    for (const { id } of await tx.requests.running()) burns.push(...(await tx.burns.ofRequest(id)));
    return (await tx.landings.waiting()).length === 0 && burns.every(({ status }) => status !== 'PENDING');
  });
}

/** Lets the engine look again and again. */
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

const NO_COST = { feeLamports: 0n, rentPaidLamports: 0n, rentReclaimedLamports: 0n };
const PIPELINES = [3, 4].map((amount) => aPipeline({ actions: [{ action: 'BURN', amount }] }));

const initBatch = async ({ service, test }: Cluster): Promise<InitBatchResult> =>
  (await service.initBatch({ pipelines: PIPELINES }, test.project.call(CALL))).value;

async function executeBatch(
  { service, test: { project } }: Cluster,
  { batch, proposalApproveTx }: InitBatchResult,
): Promise<ExecuteResult> {
  const signedTx = signApproval(proposalApproveTx, project.owner);
  return (await service.executeBatch({ batchId: batch.id, signedTx }, project.call())).value.result;
}

/** Asks again and again, until nothing of the answer can be taken back. */
async function again(under: Cluster, ask: () => Promise<ExecuteResult>): Promise<ExecuteResult> {
  for (;;) {
    under.node.advance(LOOK_SLOTS);
    await under.engine.reconcile();
    try {
      const result = await ask();
      if (await isSettled(under)) return result;
    } catch (error) {
      if (!isFlywheelError(error) || !NOT_YET.includes(error.code)) throw error;
    }
  }
}

/** What there is before a batch of {@link PIPELINES}: base units of the mint, lamports of the operator. */
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
  const { feeLamports, rentPaidLamports, rentReclaimedLamports } = meta.cost ?? NO_COST;
  expect(before.lamports - after.lamports).toBe(feeLamports + rentPaidLamports - rentReclaimedLamports);
  expect(result).toMatchObject({ total: 2, totalSuccessful: 2, totalFailed: 0 });
  expect(before.supply - after.supply).toBe(7n * UNIT);
  expect(await usedOf(under)).toBe(7n * UNIT);
  expect(await balanceOf(under, project, project.registration.vaultAddress)).toBe(999_993n * UNIT);
  const hashes = result.successfulExecutions.flatMap(({ txHashes }) => txHashes);
  expect((await chain.lookUp(hashes)).map((record) => record?.error)).toEqual([null, null]);
}

describe('what a fork has taken back', () => {
  it.each([
    ['and comes again', false],
    ['and is forgotten', true],
  ])(
    'a burn that is taken back %s burns once',
    async (_what, lost) => {
      const under = await openOnCluster([], 1, undefined, FINALIZED_AFTER);
      const { service, node, test } = under;
      const { project } = test;
      const before = await supplyOf(under, project);
      const used = await usedOf(under);
      node.faults.set([onFork(30, lost)]);
      const burn = aBurn({ burnAmount: 5 });
      const first = await service.burn(burn, project.call(CALL));
      expect(await supplyOf(under, project)).toBe(before);

      await untilSettled(under);
      const again = await service.burn(burn, project.call(CALL));
      expect(before - (await supplyOf(under, project))).toBe(5n * UNIT);
      expect((await usedOf(under)) - used).toBe(5n * UNIT);
      expect((await test.chain.lookUp([again.value.txHash]))[0]).toMatchObject({ error: null });
      expect(again.value.hash).toBe(first.value.hash);
      expect(node.failures).toEqual([]);
      await under.dispose();
    },
    60_000,
  );

  it('a burn that cannot land any more is signed anew, and a repeat is told the new signature', async () => {
    const under = await openOnCluster([], 1, undefined, FINALIZED_AFTER);
    const { service, node, test } = under;
    const { project } = test;
    const before = await supplyOf(under, project);
    // What is sent again lies about until it is too old.
    node.faults.set([onFork(10, true), { fault: 'expire', times: 1, after: 1 }]);
    const burns = [5, 7].map((burnAmount) => aBurn({ burnAmount }));
    const first = await service.burnBatch(burns, project.call(CALL));
    await untilSettled(under);
    const again = await service.burnBatch(burns, project.call(CALL));
    const hashes = again.value.success.map(({ txHash }) => txHash);
    expect(hashes).toHaveLength(2);
    expect(hashes).not.toEqual(first.value.success.map(({ txHash }) => txHash));
    expect((await test.chain.lookUp(hashes)).map((record) => record?.error)).toEqual([null, null]);
    expect(before - (await supplyOf(under, project))).toBe(12n * UNIT);
    expect(await usedOf(under)).toBe(12n * UNIT);
    await under.dispose();
  }, 60_000);

  it('a batch whose set-up is taken back is set up and executed once', async () => {
    const under = await openOnCluster([], 1, undefined, FINALIZED_AFTER);
    const { node } = under;
    const before = await holdings(under);
    node.faults.set([onFork(50, false)]);
    const { batch } = await initBatch(under);
    const result = await again(under, async () => executeBatch(under, await initBatch(under)));
    await expectExecuted(under, batch.id, result, before);
    await under.dispose();
  }, 60_000);

  itLong(
    'a batch whose set-up is taken back has an approval to ask for later, not nothing to approve',
    async () => {
      const under = await openOnCluster([], 1, undefined, FINALIZED_AFTER);
      const { service, node, test } = under;
      node.faults.set([onFork(50, true)]);
      const { batch } = await initBatch(under);
      const codes = new Set<string>();
      while (!codes.has('ERR_BATCH_NOT_FINALIZED')) {
        const ask = service.issueApproval({ batchId: batch.id }, test.project.call());
        await ask.catch((error: unknown) => codes.add(isFlywheelError(error) ? error.code : String(error)));
        node.advance();
      }
      expect(codes).toEqual(new Set(['ERR_UNAVAILABLE', 'ERR_BATCH_NOT_FINALIZED']));
      await under.dispose();
    },
    60_000,
  );

  it('a batch whose execution is taken back, votes and all, is executed once without another vote', async () => {
    const under = await openOnCluster([], 1, undefined, FINALIZED_AFTER);
    const { service, node, test } = under;
    const { project } = test;
    const before = await holdings(under);
    const started = await initBatch(under);
    node.faults.set([onFork(50, true)]);
    expect(await executeBatch(under, started)).toMatchObject({ totalSuccessful: 2 });
    expect(await supplyOf(under, project)).toBe(before.supply);
    const batchId = started.batch.id;
    const result = await again(
      under,
      async () => (await service.executeBatch({ batchId }, project.call())).value.result,
    );
    await expectExecuted(under, batchId, result, before);
    await under.dispose();
  }, 60_000);
});
