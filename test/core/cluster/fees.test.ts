/** Priority fees: within the limit, counted to the lamport, and never in the way of a check. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { checkVote } from '../../../src/approval/check-vote.js';
import { DEFAULT_MAX_PRIORITY_FEE_LAMPORTS, type TransactionRecord } from '../../../src/chain/chain.js';
import type { RpcNode } from '../../../src/chain/rpc/ask.js';
import { address } from '../../../src/values/address.js';
import { aBurnRequest, aPipeline, burnAction, signVote, type TestEngine } from '../../support/engine.js';
import { openOnCluster } from './on-cluster.js';

/** A node that reports this recent priority price for a compute unit. */
const nodeWithPrice =
  (microLamports: number) =>
  (node: RpcNode): RpcNode => ({
    ...node,
    post: async (body, terms) => {
      const { id, method } = JSON.parse(body);
      if (method !== 'getRecentPrioritizationFees') return node.post(body, terms);
      const result = [{ slot: 1, prioritizationFee: microLamports }];
      const text = JSON.stringify({ jsonrpc: '2.0', id, result });
      return { kind: 'answer', status: 200, headers: {}, text };
    },
  });

const feeOf = (record: TransactionRecord | null | undefined): bigint => record?.feeLamports ?? 0n;

const recordsOf = async ({ test }: { test: TestEngine }, signatures: readonly string[]) => {
  const records = await test.chain.lookUp(signatures);
  expect(records.map((record) => record?.error)).toEqual(signatures.map(() => null));
  return records;
};

it('burns and batches pay the price of the day, and count it', async () => {
  const under = await openOnCluster({ wrap: nodeWithPrice(50_000) });
  const { service, test } = under;
  const { project } = test;
  const burns = [1, 2, 3].map(() => aBurnRequest(1, { proof: { same: true } }));
  const burned = await service.burnBatch(burns, project.call({ idempotencyKey: randomUUID() }));
  expect(burned.value.errors).toEqual([]);
  const records = await recordsOf(
    under,
    burned.value.success.map(({ txHash }) => txHash),
  );
  // A simulation leaves less than 30,000 unused units.
  for (const record of records) {
    expect(feeOf(record)).toBeGreaterThan(5_000n);
    expect(feeOf(record)).toBeLessThan(5_000n + 1_500n);
  }

  const pipelines = [aPipeline([burnAction(1)]), aPipeline([burnAction(1)])];
  const init = await service.initBatch({ pipelines }, project.call({ idempotencyKey: randomUUID() }));
  const { batch, proposalApproveTx } = init.value;
  const setUp = batch.initResult ?? { batchIndex: 0, successfulExecutions: [] };
  const { multisigAddress, ownerAddress, operatorAddress } = await facts(under);
  const vote = checkVote(Uint8Array.from(Buffer.from(proposalApproveTx, 'base64')), {
    ...{ kind: 'approve', multisig: multisigAddress, batchIndex: BigInt(setUp.batchIndex) },
    ...{ member: ownerAddress, feePayers: [operatorAddress] },
  });
  expect(vote.priorityFeeLamports).toBeGreaterThan(0n);
  const signedTx = signVote(project.owner, proposalApproveTx);
  const executed = await service.executeBatch({ batchId: batch.id, signedTx }, project.call());
  expect(executed.value.result).toMatchObject({ totalSuccessful: 2 });

  const hashes = [...setUp.successfulExecutions, ...executed.value.result.successfulExecutions].flatMap(
    ({ txHashes }) => txHashes,
  );
  const fees = (await recordsOf(under, hashes)).map(feeOf);
  expect(fees).toHaveLength(4);
  for (const fee of fees) expect(fee).toBeGreaterThan(5_000n);
}, 60_000);

it('nothing pays more than is allowed, however much others pay', async () => {
  const under = await openOnCluster({ wrap: nodeWithPrice(2_000_000_000) });
  const { value } = await under.service.burn(
    aBurnRequest(1),
    under.test.project.call({ idempotencyKey: randomUUID() }),
  );
  const [record] = await recordsOf(under, [value.txHash]);
  expect(feeOf(record)).toBeLessThanOrEqual(5_000n + DEFAULT_MAX_PRIORITY_FEE_LAMPORTS);
  expect(feeOf(record)).toBeGreaterThan(5_000n + DEFAULT_MAX_PRIORITY_FEE_LAMPORTS - 10n);
}, 60_000);

async function facts({ test }: { test: TestEngine }) {
  const { registration } = test.project;
  return {
    multisigAddress: address(registration.multisig),
    ownerAddress: address(test.project.owner.address),
    operatorAddress: address(registration.operator),
  };
}
