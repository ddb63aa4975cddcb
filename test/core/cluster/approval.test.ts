/**
 * Approvals on a cluster with blockhashes of a few seconds: an expired approval is issued again, and however many of the owner's
 * votes land, the batch runs once and each vote's cost is counted.
 */
import { describe, expect, it } from 'vitest';
import { buildApproval } from '../../../src/approval/check-vote.js';
import type { RpcNode } from '../../../src/chain/rpc/ask.js';
import { addSignature } from '../../../src/chain/transaction/sign.js';
import { decodeTransaction } from '../../../src/chain/transaction/wire.js';
import { base58Encode } from '../../../src/values/bytes.js';
import { aPipeline, burnAction, signVote, supplyOf } from '../../support/engine.js';
import { rpcResult } from '../../support/rpc-call.js';
import { failureOf } from '../../support/service.js';
import { openOnCluster } from './on-cluster.js';

const UNIT = 1_000_000n;
const OWNER_AND_OPERATOR_SIGN = 10_000n;

type Under = Awaited<ReturnType<typeof openOnCluster>>;

async function waitingBatch(under: Under) {
  const { service, test } = under;
  const pipelines = [aPipeline([burnAction(3)])];
  const { value } = await service.initBatch({ pipelines }, test.project.call());
  return { batchId: value.batch.id, signedTx: signVote(test.project.owner, value.proposalApproveTx) };
}

async function freshApproval({ service, test }: Under, batchId: string): Promise<string> {
  const { value } = await service.issueApproval({ batchId: batchId as never }, test.project.call());
  return signVote(test.project.owner, value.proposalApproveTx);
}

async function untilExpired({ node }: Under, signedTx: string): Promise<void> {
  const blockhash = base58Encode(decodeTransaction(Buffer.from(signedTx, 'base64')).message.blockhash);
  const isValid = async (): Promise<boolean> =>
    (
      await rpcResult<{ value: boolean }>(node.url, 'isBlockhashValid', blockhash, {
        commitment: 'processed',
      })
    ).value;
  while (await isValid()) node.advance(10);
}

const signatureOf = (signedTx: string): string =>
  base58Encode(decodeTransaction(Buffer.from(signedTx, 'base64')).signatures[0] ?? new Uint8Array());

async function paidFor({ test }: Under, votes: readonly string[]): Promise<readonly (bigint | null)[]> {
  const records = await test.chain.lookUp(votes.map(signatureOf));
  return records.map((record) => record?.feeLamports ?? null);
}

async function feesOf({ test }: Under, batchId: string): Promise<bigint> {
  const bundles = await test.store.read((tx) => tx.bundles.ofBatch(batchId));
  const landed = bundles.filter(({ status }) => status === 'LANDED' || status === 'FAILED');
  const signatures = landed.flatMap(({ transactions }) => transactions.map(({ signature }) => signature));
  const records = await test.chain.lookUp(signatures);
  return records.reduce((sum, record) => sum + (record?.feeLamports ?? 0n), 0n);
}

describe('an approval on a cluster', () => {
  it('that ran out before the owner came is refused, and a fresh one executes the batch', async () => {
    const under = await openOnCluster();
    const { service, test } = under;
    const before = await supplyOf(under, test.project);
    const { batchId, signedTx } = await waitingBatch(under);
    await untilExpired(under, signedTx);
    const execute = (vote: string) => service.executeBatch({ batchId, signedTx: vote }, test.project.call());
    expect(await failureOf(execute(signedTx))).toMatchObject({ code: 'ERR_APPROVAL_EXPIRED' });
    const fresh = await freshApproval(under, batchId);
    expect(fresh).not.toBe(signedTx);
    const { value, meta } = await execute(fresh);
    expect(value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
    expect(before - (await supplyOf(under, test.project))).toBe(3n * UNIT);
    expect(await paidFor(under, [signedTx, fresh])).toEqual([null, OWNER_AND_OPERATOR_SIGN]);
    expect(meta.cost?.operatorLamports).toBe(await feesOf(under, batchId));
  }, 60_000);

  it('with a blockhash that its node does not know yet is sent, and executes the batch', async () => {
    const wrap = ({ address, post }: RpcNode): RpcNode => ({
      address,
      post: async (body, terms) => {
        const outcome = await post(body, terms);
        if (outcome.kind === 'failure' || !body.includes('isBlockhashValid')) return outcome;
        return { ...outcome, text: outcome.text.replace('"value":true', '"value":false') };
      },
    });
    const under = await openOnCluster({ wrap });
    const { chain, service, test } = under;
    const { owner, registration } = test.project;
    const { batchId } = await waitingBatch(under);
    const { blockhash } = await chain.latestBlockhash();
    const { multisig } = registration;
    const vote = buildApproval({ owner: owner.address, multisig, batchIndex: 1n, blockhash });
    const signedTx = Buffer.from(await addSignature(vote, owner)).toString('base64');
    const { value } = await service.executeBatch({ batchId, signedTx }, test.project.call());
    expect(value.result).toMatchObject({ totalSuccessful: 1 });
  }, 60_000);

  it('that is on its way when a fresh one is signed counts once, and both are paid for if both land', async () => {
    const under = await openOnCluster();
    const { service, test, node } = under;
    const before = await supplyOf(under, test.project);
    const { batchId, signedTx } = await waitingBatch(under);
    // The owner also sends the first approval, which lands late.
    node.faults.set([{ fault: 'late', rate: 1, slots: 12, methods: ['sendTransaction'], times: 1 }]);
    await rpcResult(node.url, 'sendTransaction', signedTx, { encoding: 'base64', skipPreflight: true });
    node.faults.set([]);
    const fresh = await freshApproval(under, batchId);
    const { value } = await service.executeBatch({ batchId, signedTx: fresh }, test.project.call());
    expect(value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
    expect(before - (await supplyOf(under, test.project))).toBe(3n * UNIT);
    await untilExpired(under, signedTx);
    const again = await service.executeBatch({ batchId, signedTx: fresh }, test.project.call());
    expect(again.value.result).toEqual(value.result);
    expect(before - (await supplyOf(under, test.project))).toBe(3n * UNIT);
    expect(again.meta.cost?.operatorLamports).toBe(await feesOf(under, batchId));
    const paid = await paidFor(under, [signedTx, fresh]);
    expect(paid).toContain(OWNER_AND_OPERATOR_SIGN);
  }, 60_000);

  it('that lands while the fresh one is on its way makes that one fail, and the batch is executed', async () => {
    const under = await openOnCluster();
    const { service, test, node } = under;
    const before = await supplyOf(under, test.project);
    const { batchId, signedTx } = await waitingBatch(under);
    const fresh = await freshApproval(under, batchId);
    // The fresh approval waits, and the owner sends the first one meanwhile.
    node.faults.set([{ fault: 'late', rate: 1, slots: 12, methods: ['sendTransaction'], times: 1 }]);
    const sends = () => under.calls.filter((method) => method === 'sendTransaction').length;
    const sentBefore = sends();
    const executing = service.executeBatch({ batchId, signedTx: fresh }, test.project.call());
    while (sends() === sentBefore) await new Promise((resolve) => setImmediate(resolve));
    await rpcResult(node.url, 'sendTransaction', signedTx, { encoding: 'base64', skipPreflight: true });
    const { value, meta } = await executing;
    expect(value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
    expect(before - (await supplyOf(under, test.project))).toBe(3n * UNIT);
    expect(meta.cost?.operatorLamports).toBe(await feesOf(under, batchId));
  }, 60_000);
});
