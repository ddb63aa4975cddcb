/** Operations beyond the specification (contract, section 1.7): lists, key information, fresh approvals, cancelling. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Api } from './api.js';
import { it } from './cases.js';
import { lamportsOf, supplyOf } from './chain-reading.js';
import { aBurnRequest, aPipeline, approved, burning, signVote, someWallet } from './requests.js';

const post = ({ http, project }: Api, path: string, body?: string, type = 'application/json') =>
  http.send('POST', `/v1/flywheel/batch/${path}`, {
    headers: { 'x-service-api-key': project.key, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
  });

const refusal = ({ status, bytes }: { readonly status: number; readonly bytes: Buffer }) => [
  status,
  JSON.parse(bytes.toString()) as unknown,
];
const saying = (error: string, part = '') => ({ error, message: expect.stringContaining(part) });

type Query = Readonly<Record<string, string | number>>;
interface Listed {
  readonly index: number;
  readonly proofHash: string;
  readonly txHash?: string;
}

export function further(): void {
  it('contract 1.7: "Lists take `limit` (1 to 200, default 50) and `cursor`"', async (api) => {
    const project = await api.register();
    const ids: string[] = [];
    for (const amount of [1, 2, 3]) {
      (await api.burn(project, aBurnRequest(amount))).done();
      ids.unshift((await api.initBatch(project, burning(amount))).done().batch.id);
    }
    expect((await api.listBatches(project)).done().items.map(({ id }) => id)).toEqual(ids);
    const [first, all] = [
      (await api.listBurns(project, { limit: 2 })).done(),
      (await api.listBurns(project)).done(),
    ];
    const rest = (await api.listBurns(project, { limit: 2, cursor: first.nextCursor ?? '' })).done();
    expect([[...first.items, ...rest.items], rest.nextCursor]).toEqual([all.items, null]);
    expect([first.items.length, all.items.length]).toEqual([2, 3]);
    for (const limit of [0, 201, 1.5, 'seven'])
      (await api.listBatches(project, { limit })).refused(400, 'ERR_INVALID_REQUEST');
  });

  it('contract 1.7: lists by what burns and batches have', async (api) => {
    const project = await api.register();
    const proof = { type: 'WATCH_AD', proof: { n: 1 } };
    const { hash, txHash } = (await api.burn(project, aBurnRequest(1, proof))).done();
    (await api.burn(project, aBurnRequest(1))).done();
    const burns = async (query: Query) =>
      (await api.listBurns(project, query)).done().items.map((burn) => burn.hash === hash);
    for (const query of [{ type: 'WATCH_AD' }, { proofHash: hash }, { txHash }])
      expect([query, await burns(query)]).toEqual([query, [true]]);
    expect(await burns({ status: 'SUCCESS' })).toEqual([false, true]);
    for (const query of [{ status: 'FAILED' }, { until: '2020-01-01T00:00:00Z' }])
      expect([query, await burns(query)]).toEqual([query, []]);
    expect(await burns({ since: '2020-01-01T00:00:00Z' })).toEqual([false, true]);

    const toAddress = someWallet();
    const watched = { type: 'WATCH_AD', payload: '{"watched":1}' };
    const airdrop = aPipeline([{ action: 'AIRDROP', toAddress, amount: 1 }], watched);
    const init = (await api.initBatch(project, { pipelines: [...burning(1).pipelines, airdrop] })).done();
    (await api.executeBatch(project, approved(project, init))).done();
    const executed = init.batch.id;
    const waits = (await api.initBatch(project, burning(1))).done().batch.id;
    const [first, second] = (await api.batchPipelines(project, executed)).done().items as Listed[];
    const batches = async (query: Query) =>
      (await api.listBatches(project, query)).done().items.map(({ id }) => id);
    for (const query of [
      ...[{ status: 'EXECUTED' }, { action: 'AIRDROP' }, { toAddress }, { type: 'WATCH_AD' }],
      ...[{ proofHash: second?.proofHash ?? '' }, { txHash: second?.txHash ?? '' }],
    ])
      expect([query, await batches(query)]).toEqual([query, [executed]]);
    expect(await batches({ action: 'BURN' })).toEqual([waits, executed]);
    const [, mixed] = (await api.listBatches(project)).done().items;
    expect(mixed?.totals).toEqual({ pipelines: 2, burn: '1', airdrop: '1', recipients: 1 });
    expect(await batches({ toAddress, status: 'FINALIZED' })).toEqual([]);
    for (const query of [{ status: 'DONE' }, { action: 'LOCK' }, { toAddress: 'me' }])
      (await api.listBatches(project, query)).refused(400, 'ERR_INVALID_REQUEST');

    const pipelines = async (query: Query) =>
      ((await api.batchPipelines(project, executed, query)).done().items as Listed[]).map(
        ({ index }) => index,
      );
    for (const query of [{ action: 'AIRDROP' }, { toAddress, state: 'EXECUTED' }, { type: 'WATCH_AD' }])
      expect([query, await pipelines(query)]).toEqual([query, [1]]);
    expect(await pipelines({ toAddress, state: 'FAILED' })).toEqual([]);
    expect(await pipelines({ txHash: first?.txHash ?? '' })).toEqual([0]);
    const page = (await api.batchPipelines(project, executed, { limit: 1 })).done();
    expect(await pipelines({ cursor: page.nextCursor ?? '' })).toEqual([1]);
  });

  it('contract 1.7: the history has a row for each burn and airdrop that landed, alone or in a batch', async (api) => {
    const project = await api.register();
    const burned = (await api.burn(project, aBurnRequest(1.5))).done();
    const [toAddress, other] = [someWallet(), someWallet()];
    const watched = { type: 'WATCH_AD', payload: '{"watched":1}' };
    const airdrops = [toAddress, other, toAddress].map((to, at) => ({
      ...{ action: 'AIRDROP', toAddress: to, amount: at + 1 },
    }));
    const pipelines = [...burning(7).pipelines, aPipeline(airdrops, watched)];
    const init = (await api.initBatch(project, { pipelines })).done();
    const batchId = init.batch.id;
    const waits = (await api.initBatch(project, burning(9))).done().batch.id;
    (await api.executeBatch(project, approved(project, init))).done();

    const all = (await api.history(project)).done();
    expect(all.nextCursor).toBeNull();
    const { hash, txHash } = burned;
    // Newest first; burn and batch may share a slot, and then have no order.
    const dates = all.items.map(({ date }) => date);
    expect(dates).toEqual(dates.toSorted().reverse());
    expect(all.items.find((item) => item.txHash === txHash)).toEqual({
      ...{ action: 'BURN', date: burned.dateBurned, amount: '1.5', type: burned.type, hash, txHash },
    });
    const last = all.items.find(({ amount }) => amount === '3');
    expect(last).toMatchObject({
      action: 'AIRDROP',
      toAddress,
      batchId,
      type: 'WATCH_AD',
    });
    const amounts = async (query: Query) =>
      (await api.history(project, query)).done().items.map(({ amount }) => amount);
    const inAnyOrder = async (query: Query) => (await amounts(query)).toSorted();
    expect(await inAnyOrder({})).toEqual(['1', '1.5', '2', '3', '7']);
    expect(await inAnyOrder({ action: 'BURN' })).toEqual(['1.5', '7']);
    expect(await amounts({ since: '2020-01-01T00:00:00Z', limit: 1 })).toHaveLength(1);
    for (const [query, found] of [
      [{ action: 'AIRDROP' }, ['3', '2', '1']],
      [{ toAddress: other }, ['2']],
      [{ type: 'WATCH_AD' }, ['3', '2', '1']],
      [{ proofHash: burned.hash }, ['1.5']],
      [{ txHash: last?.txHash ?? '' }, ['3', '2', '1']],
      [{ batchId }, ['3', '2', '1', '7']],
      [{ batchId, action: 'BURN' }, ['7']],
      [{ batchId: waits }, []],
      [{ until: '2020-01-01T00:00:00Z' }, []],
    ] as const)
      expect([query, await amounts(query)]).toEqual([query, found]);
    const pages: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = (await api.history(project, { limit: 2, ...(cursor && { cursor }) })).done();
      pages.push(...page.items.map(({ amount }) => amount));
      cursor = page.nextCursor;
    }
    expect(pages).toEqual(all.items.map(({ amount }) => amount));
    const { key } = await api.service.createKey({ scopes: ['airdrop'], proofTypes: ['WATCH_AD'] });
    for (const type of ['WATCH_AD', 'PRODUCT_BUY'])
      (await api.burn(api.project, aBurnRequest(1, { type }))).done();
    const types = (await api.history(key)).done().items.map((item) => item.type);
    expect(new Set(types)).toEqual(new Set(['WATCH_AD']));
    expect((await api.history(key, { type: 'PRODUCT_BUY' })).done().items).toEqual([]);
    expect((await api.history(await api.register())).done().items).toEqual([]);
    for (const query of [
      { action: 'MEMO' },
      { toAddress: 'me' },
      { proofHash: 'cc05dfc7' },
      { limit: 0 },
      { cursor: 'MTU' },
    ])
      (await api.history(project, query)).refused(400, 'ERR_INVALID_REQUEST');
  });

  it('contract 1.7: "`GET /v1/tokenomics/key` | the API key of the request"', async (api) => {
    const terms = { scopes: ['airdrop'], proofTypes: ['WATCH_AD'] } as const;
    const { id, key } = await api.service.createKey(terms);
    const { tokenId, symbol, mintAddress, decimals } = api.project;
    const multisig = expect.any(String);
    const described = { ...terms, name: null, id, tokenId, symbol, mintAddress, multisig, decimals };
    expect((await api.describeKey(key)).done()).toEqual(described);
    expect((await api.describeKey(api.project)).done()).toMatchObject({ proofTypes: null });
  });

  it('contract 1.7: API keys limited to some proof types: "pipelines | the `payload` of those types"', async (api) => {
    const { id } = (await api.initBatch(api.project, burning(1))).done().batch;
    const narrow = (await api.service.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] })).key;
    const payloads = async (by: string) =>
      (await api.batchPipelines(by, id)).done().items.map((item) => (item as { payload: string }).payload);
    expect([await payloads(api.project.key), await payloads(narrow)]).toEqual([['{"order":1}'], ['']]);
    (await api.issueApproval(narrow, id)).refused(400, 'ERR_INVALID_PROOF');
  });

  it('contract 1.7: "approval, execute, cancel | refused if the batch has another type"', async (api) => {
    const { project } = api;
    const init = (await api.initBatch(project, burning(1))).done();
    const keyFor = async (type: string) =>
      (await api.service.createKey({ scopes: ['airdrop'], proofTypes: [type] })).key;
    const narrow = await keyFor('WATCH_AD');
    (await api.cancelBatch(narrow, init.batch.id)).refused(400, 'ERR_INVALID_PROOF');
    (await api.executeBatch(narrow, approved(project, init))).refused(400, 'ERR_INVALID_PROOF');
    expect((await api.getBatch(project, init.batch.id)).done().status).toBe('FINALIZED');
    const own = await keyFor('PRODUCT_BUY');
    expect((await api.executeBatch(own, approved(project, init))).done().result.totalFailed).toBe(0);
  });

  it('contract 1.7: "a fresh approval transaction, in the form of init\'s answer; a body is not needed"', async (api) => {
    const { project } = api;
    const { batch, ...init } = (await api.initBatch(project, burning(1))).done();
    await api.service.expireBlockhashes();
    for (const body of [undefined, '', '{}']) {
      const answer = await post(api, `${batch.id}/approval`, body);
      expect(answer.status).toBe(200);
    }
    const fresh = (await api.issueApproval(project, batch.id)).done();
    expect(fresh.batch).toEqual(batch);
    expect(fresh.proposalApproveTx).not.toBe(init.proposalApproveTx);
    expect((await api.executeBatch(project, approved(project, fresh))).done().result.totalFailed).toBe(0);
    (await api.issueApproval(project, batch.id)).refused(400, 'ERR_INVALID_REQUEST');
  });

  it('contract 1.7: what a path says no body says again, and other operations need theirs', async (api) => {
    const id = randomUUID();
    for (const [answer, status, said] of [
      [
        await post(api, `${id}/cancel`, `{"batchId":"${id}"}`),
        400,
        saying('ERR_INVALID_REQUEST', 'in the path'),
      ],
      [await post(api, `${id}/cancel`, '[]'), 400, saying('ERR_INVALID_REQUEST', 'expected an object')],
      [await post(api, `${id}/cancel`, 'x', 'text/plain'), 415, saying('ERR_UNSUPPORTED_MEDIA_TYPE')],
      [await post(api, 'init'), 415, saying('ERR_UNSUPPORTED_MEDIA_TYPE')],
      [await post(api, 'execute', ''), 400, saying('ERR_INVALID_REQUEST', 'got nothing')],
      [await post(api, `${'a'.repeat(201)}/approval`), 400, saying('ERR_INVALID_REQUEST', '200 characters')],
    ] as const)
      expect(refusal(answer)).toEqual([status, said]);
    (await api.batchPipelines(api.project, 'a'.repeat(201))).refused(400, 'ERR_INVALID_REQUEST');
    (await api.cancelBatch(api.project, id)).refused(404, 'ERR_BATCH_NOT_FOUND');
  });

  it('contract 1.7: cancel "votes the batch down, closes its accounts, and returns caps and rent" — a batch that waits, without its owner', async (api) => {
    const project = await api.register({ dailyBurn: '5' });
    const [supply, held] = [await supplyOf(api, project), await lamportsOf(api, project.operator)];
    const init = (await api.initBatch(project, burning(2, 3))).done();
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    const answer = await api.cancelBatch(project, init.batch.id);
    expect(answer.done()).toMatchObject({
      ownerVoteNeeded: false,
      batch: {
        ...{ status: 'FAILED', dateCancelled: expect.stringMatching(/^\d{4}-/) },
        executeResult: { total: 2, totalSuccessful: 0, totalFailed: 2, failedTxMsg: 'cancelled' },
      },
    });
    // Only fees are paid, as the records say.
    const cost = held - (await lamportsOf(api, project.operator));
    expect(answer.http.headers['x-batch-cost']).toBe(`operator=${cost};vault=0`);
    expect(cost).toBeLessThan(100_000n);
    // "to cancel what is cancelled gives the same answer"; execute reports the cancelled batch.
    expect((await api.cancelBatch(project, init.batch.id)).done()).toEqual(answer.done());
    const executed = (await api.executeBatch(project, approved(project, init))).done();
    expect(executed.result.failedTxMsg).toBe('cancelled');
    expect((await api.currentBatch(project)).done()).toBeNull();
    expect(await supplyOf(api, project)).toBe(supply);
    (await api.burn(project, aBurnRequest(5))).done();
  });

  it('contract 1.7: cancel — "If the owner\'s vote is needed and missing, the answer is 200 `{ "ownerVoteNeeded": true, "cancelTx": base64 }`"', async (api) => {
    const project = await api.register({ vaultTokens: '10', dailyBurn: '16' });
    const [first, failing] = [
      (await api.initBatch(project, burning(7))).done(),
      (await api.initBatch(project, burning(8))).done(),
    ];
    for (const init of [first, failing]) (await api.executeBatch(project, approved(project, init))).done();
    const asked = (await api.cancelBatch(project, failing.batch.id)).done() as unknown as {
      readonly ownerVoteNeeded: boolean;
      readonly cancelTx: string;
    };
    expect(asked).toEqual({ ownerVoteNeeded: true, cancelTx: expect.stringMatching(/\S/) });
    // Executable pipelines still count.
    (await api.burn(project, aBurnRequest(2))).refused(400, 'ERR_DAILY_LIMIT_EXCEEDED');
    for (const bad of [asked.cancelTx, approved(project, failing).signedTx, 'AAAA'])
      (await api.cancelBatch(project, failing.batch.id, { signedTx: bad })).refused(
        400,
        'ERR_INVALID_SIGNED_TX',
      );
    const signedTx = signVote(project, asked.cancelTx);
    const ended = (await api.cancelBatch(project, failing.batch.id, { signedTx })).done();
    expect(ended).toMatchObject({
      ownerVoteNeeded: false,
      batch: { dateCancelled: expect.stringMatching(/^\d/) },
    });
    (await api.burn(project, aBurnRequest(9))).done();
  });
}
