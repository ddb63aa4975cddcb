/** Batches and their pipelines as they are listed: by what they are asked for, page after page. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createKeypairSigner, generateKeypair } from '../../../../src/chain/transaction/signer.js';
import type { BatchPipelinesQuery, ListBatchesQuery } from '../../../../src/contract/schemas/batch.js';
import type { Address } from '../../../../src/values/address.js';
import type { Uuid } from '../../../../src/values/ids.js';
import { Secret } from '../../../../src/values/secret.js';
import { openTestEngine, type TestEngine } from '../../../support/engine.js';
import { aPipeline } from '../../../support/examples.js';
import { signApproval } from '../../../support/service.js';

const recipient = createKeypairSigner(generateKeypair()).address;
const airdrop = aPipeline({
  type: 'WATCH_AD',
  payload: '{"watched":1}',
  actions: [{ action: 'AIRDROP', toAddress: recipient, amount: 1 }],
});

let test: TestEngine;
let executed: Uuid;
let waiting: Uuid;
beforeEach(async () => {
  test = await openTestEngine();
  const init = async (...pipelines: ReturnType<typeof aPipeline>[]) =>
    (await test.engine.initBatch({ pipelines }, test.project.call())).value;
  const { batch, proposalApproveTx } = await init(aPipeline(), airdrop, aPipeline());
  executed = batch.id;
  const signedTx = signApproval(proposalApproveTx, test.project.owner);
  await test.engine.executeBatch({ batchId: executed, signedTx }, test.project.call());
  waiting = (await init(aPipeline())).batch.id;
});
afterEach(() => test.destroy());

const ids = async (query: ListBatchesQuery): Promise<readonly string[]> =>
  (await test.engine.listBatches(query, test.project.call())).value.items.map(({ id }) => id);
const pipelines = async (query: Omit<BatchPipelinesQuery, 'batchId'>) =>
  (await test.engine.batchPipelines({ batchId: executed, ...query }, test.project.call())).value;
const indexes = async (query: Omit<BatchPipelinesQuery, 'batchId'>): Promise<readonly number[]> =>
  (await pipelines(query)).items.map(({ index }) => index);

it('finds batches by what they are, hold and sent', async () => {
  expect(await ids({})).toEqual([waiting, executed]);
  expect(await ids({ status: 'EXECUTED' })).toEqual([executed]);
  expect(await ids({ action: 'AIRDROP' })).toEqual([executed]);
  expect(await ids({ action: 'BURN' })).toEqual([waiting, executed]);
  expect(await ids({ toAddress: recipient })).toEqual([executed]);
  expect(await ids({ toAddress: recipient, status: 'FINALIZED' })).toEqual([]);
  expect(await ids({ type: 'WATCH_AD' })).toEqual([executed]);
  const [, second] = (await pipelines({})).items;
  expect(await ids({ proofHash: second?.proofHash })).toEqual([executed]);
  expect(await ids({ txHash: second?.txHash })).toEqual([executed]);
  expect(await ids({ txHash: 'none' })).toEqual([]);
});

it('finds pipelines in one batch, and goes on where a page ended', async () => {
  const [first, second] = (await pipelines({})).items;
  expect(second).toMatchObject({ state: 'EXECUTED', dateExecuted: expect.any(String) });
  expect(await indexes({ action: 'AIRDROP' })).toEqual([1]);
  expect(await indexes({ toAddress: recipient, type: 'WATCH_AD', state: 'EXECUTED' })).toEqual([1]);
  expect(await indexes({ toAddress: recipient, state: 'FAILED' })).toEqual([]);
  expect(await indexes({ proofHash: second?.proofHash })).toEqual([1]);
  expect(await indexes({ txHash: first?.txHash })).toEqual([0]);
  const page = await pipelines({ action: 'BURN', limit: 1 });
  expect(page.items.map(({ index }) => index)).toEqual([0]);
  expect(await indexes({ action: 'BURN', cursor: page.nextCursor ?? '' })).toEqual([2]);
});

it('gives the proofs of other types to no key that is limited to some', async () => {
  const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
  const call = { credential: new Secret(key) };
  const { items } = (await test.engine.batchPipelines({ batchId: executed }, call)).value;
  expect(items.map(({ index, state, payload }) => [index, state, payload])).toEqual([
    [0, 'EXECUTED', ''],
    [1, 'EXECUTED', '{"watched":1}'],
    [2, 'EXECUTED', ''],
  ]);
});

it('refuses filters that can be nothing', async () => {
  await expect(ids({ action: 'LOCK' as 'BURN' })).rejects.toMatchObject({
    code: 'ERR_INVALID_REQUEST',
    message: expect.stringContaining('action: unknown action; expected BURN, AIRDROP, MEMO'),
  });
  await expect(ids({ toAddress: 'me' as Address })).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
});
