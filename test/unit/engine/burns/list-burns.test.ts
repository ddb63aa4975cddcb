/** Burns as they are listed: newest first, page after page, by what they are asked for. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ListBurnsQuery } from '../../../../src/contract/schemas/burn.js';
import { Secret } from '../../../../src/values/secret.js';
import { aBurnRequest, openTestEngine, type TestEngine } from '../../../support/engine.js';

let test: TestEngine;
let nowMs = Date.now();
beforeEach(async () => {
  test = await openTestEngine({}, { clock: { nowMs: () => nowMs } });
});
afterEach(() => test.destroy());

const list = async (query: ListBurnsQuery = {}) =>
  (await test.engine.listBurns(query, test.project.call())).value;
const amounts = async (query: ListBurnsQuery = {}) => (await list(query)).items.map(({ amount }) => amount);

describe('listBurns', () => {
  it('tells all there is of each burn, newest first', async () => {
    expect(await list()).toEqual({ items: [], nextCursor: null });
    const { value: one } = await test.engine.burn(aBurnRequest(1.5), test.project.call());
    await test.engine.burn(aBurnRequest(2), test.project.call());
    const { items, nextCursor } = await list();
    expect(nextCursor).toBeNull();
    expect(items.map(({ amount }) => amount)).toEqual(['2', '1.5']);
    expect(items[1]).toEqual({
      ...{ hash: one.hash, txHash: one.txHash, type: one.type, amount: '1.5', status: 'SUCCESS' },
      ...{
        persistOnchain: false,
        feeLamports: '5000',
        dateBurned: one.dateBurned,
        dateCreated: expect.any(String),
      },
    });
  });

  it('goes on where a page ended, whatever came meanwhile', async () => {
    for (const amount of [1, 2, 3, 4, 5]) await test.engine.burn(aBurnRequest(amount), test.project.call());
    const first = await list({ limit: 2 });
    expect(first.items.map(({ amount }) => amount)).toEqual(['5', '4']);
    await test.engine.burn(aBurnRequest(6), test.project.call());
    const second = await list({ limit: 2, cursor: first.nextCursor ?? '' });
    expect(second.items.map(({ amount }) => amount)).toEqual(['3', '2']);
    const last = await list({ limit: 2, cursor: second.nextCursor ?? '' });
    expect([last.items.map(({ amount }) => amount), last.nextCursor]).toEqual([['1'], null]);
    await expect(list({ cursor: '!' })).rejects.toMatchObject({ code: 'ERR_INVALID_REQUEST' });
  });

  it('finds by type, status, proof, transaction and time', async () => {
    const { value: one } = await test.engine.burn(aBurnRequest(1), test.project.call());
    nowMs += 1_000;
    const between = new Date(nowMs).toISOString();
    await test.engine.burn({ ...aBurnRequest(2), type: 'WATCH_AD' }, test.project.call());
    expect(await amounts({ type: 'WATCH_AD' })).toEqual(['2']);
    expect(await amounts({ status: 'SUCCESS' })).toEqual(['2', '1']);
    expect(await amounts({ status: 'FAILED' })).toEqual([]);
    expect(await amounts({ proofHash: one.hash })).toEqual(['1']);
    expect(await amounts({ proofHash: `${one.hash.slice(0, -1)}x` })).toEqual([]);
    expect(await amounts({ txHash: one.txHash })).toEqual(['1']);
    expect(await amounts({ since: between })).toEqual(['2']);
    expect(await amounts({ until: between })).toEqual(['1']);
  });

  it('shows a key no burns of types that it may not use, and nobody those of another project', async () => {
    await test.engine.burn(aBurnRequest(1), test.project.call());
    await test.engine.burn({ ...aBurnRequest(2), type: 'WATCH_AD' }, test.project.call());
    const { key } = await test.engine.createKey({ scopes: ['burn'], proofTypes: ['WATCH_AD'] });
    const call = { ...test.project.call(), credential: new Secret(key) };
    const seen = async (query: ListBurnsQuery) =>
      (await test.engine.listBurns(query, call)).value.items.map(({ amount }) => amount);
    expect(await seen({})).toEqual(['2']);
    expect(await seen({ type: aBurnRequest(1).type })).toEqual([]);
    const other = await test.register({ symbol: 'OTH' });
    expect((await test.engine.listBurns({}, other.call())).value.items).toEqual([]);
  });
});
