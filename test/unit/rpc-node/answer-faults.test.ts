/** What a client meets at a node whose answers go wrong. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type FaultRule, readFaultRules } from '../../../src/rpc-node/faults/fault-rules.js';
import { Faults } from '../../../src/rpc-node/faults/faults.js';
import { removeDirectories } from '../../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { rpcAnswer, rpcPost, rpcResult, statusOf } from '../../support/rpc-call.js';
import { paid, payment, sent } from '../../support/rpc-payments.js';

afterEach(closeTestNodes);
afterAll(removeDirectories);

const TERMS = { confirmedAfter: 2, finalizedAfter: 31 } as const;
const withFaults = (...faults: FaultRule[]): Promise<TestNode> => startTestNode({ ...TERMS, faults });
const ASK = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'getSlot', params: [] });

describe('busy and unavailable', () => {
  it('are 429 with the seconds to wait, and 503', async () => {
    const { url } = await withFaults(
      { fault: 'busy', seconds: 3, times: 1 },
      { fault: 'unavailable', times: 1 },
    );
    const busy = await rpcPost(url, ASK);
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '3']);
    expect((await rpcPost(url, ASK)).status).toBe(503);
    expect((await rpcPost(url, ASK)).status).toBe(200);
  });
});

describe('wrong', () => {
  it.each([
    ['html', /^<!doctype html>/],
    ['text', /^upstream/],
    ['id', /^\{"jsonrpc":"2\.0","result":1000,"id":987654321\}$/],
    ['shape', /"value":"\?"/],
    ['empty', /^$/],
    ['cut', /^\{"jsonrpc":"2\.0","r/],
  ] as const)('answers with %s', async (as, text) => {
    const { url } = await withFaults({ fault: 'wrong', as });
    const answer = await rpcPost(url, ASK);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(text);
  });
});

describe('hang, unanswered and hangup', () => {
  it('never answer; only what was asked of the second is done', async () => {
    const { url } = await withFaults(
      { fault: 'hang', times: 1, methods: ['sendTransaction'] },
      { fault: 'unanswered', times: 1, methods: ['sendTransaction'] },
    );
    const [first, second] = [await payment(url, 1n), await payment(url, 2n)];
    const sending = (bytes: Uint8Array) => {
      const params = [Buffer.from(bytes).toString('base64'), { encoding: 'base64', skipPreflight: true }];
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendTransaction', params });
      return rpcPost(url, body, AbortSignal.timeout(300));
    };
    await expect(sending(first.bytes)).rejects.toThrow(/timeout/);
    await expect(sending(second.bytes)).rejects.toThrow(/timeout/);
    expect(await statusOf(url, first.signature)).toBeNull();
    expect(await statusOf(url, second.signature)).not.toBeNull();
  });

  it('closes the connection without a word', async () => {
    const { url } = await withFaults({ fault: 'hangup', times: 1 });
    await expect(rpcPost(url, ASK)).rejects.toThrow('fetch failed');
    expect((await rpcPost(url, ASK)).status).toBe(200);
  });
});

describe('behind', () => {
  it('answers from an older state, and says so where a newer one is asked for', async () => {
    const { url, advance, faults, cluster } = await withFaults();
    advance(40);
    await sent(url, await payment(url));
    const slot = cluster.slotOf('processed');
    const fresh = await payment(url, 7n);
    faults.set([{ fault: 'behind', slots: 10 }]);
    expect(await rpcResult<number>(url, 'getSlot', { commitment: 'processed' })).toBeLessThanOrEqual(
      slot - 10,
    );
    expect(await paid(url)).toBe(0);
    expect(
      (await rpcAnswer(url, 'getSlot', { commitment: 'processed', minContextSlot: slot })).error,
    ).toEqual({
      code: -32_016,
      message: 'Minimum context slot has not been reached',
      data: { contextSlot: cluster.timeline.atOrBefore(slot - 10) },
    });
    expect(await rpcResult(url, 'getHealth')).toBe('ok');
    expect((await sent(url, fresh)).error).toMatchObject({
      code: -32_002,
      data: { err: 'BlockhashNotFound' },
    });
    faults.set([{ fault: 'behind', slots: 200 }]);
    const tooFar = { code: -32_005, data: { numSlotsBehind: 200 } };
    expect((await rpcAnswer(url, 'getHealth')).error).toMatchObject(tooFar);
    expect((await sent(url, fresh)).error).toMatchObject(tooFar);
    expect((await sent(url, fresh, { skipPreflight: true })).result).toBe(fresh.signature);
    faults.set([]);
    expect(await paid(url)).toBe(1_000_007);
  });

  it('shows an account as it was at every slot since', async () => {
    const { url, advance, faults, cluster } = await withFaults();
    const balances = new Map<number, number>();
    for (let round = 0; round < 6; round += 1) {
      await sent(url, await payment(url, BigInt(1_000_000 + round)));
      balances.set(cluster.slotOf('processed'), await paid(url));
      advance(3);
    }
    const now = cluster.slotOf('processed');
    for (const [slot, balance] of balances) {
      faults.set([{ fault: 'behind', slots: now - slot }]);
      expect(await paid(url)).toBe(balance);
    }
  });
});

describe('prune', () => {
  it('has no blocks and transactions older than so many slots, and says from where on it has', async () => {
    const { url, advance, cluster, faults } = await withFaults();
    const tx = await payment(url);
    await sent(url, tx);
    const { slot } = (await statusOf(url, tx.signature)) ?? { slot: 0 };
    advance(60);
    faults.set([{ fault: 'prune', slots: 40 }]);
    const first = cluster.timeline.atOrAfter(cluster.slotOf('processed') - 40);
    expect(await rpcResult(url, 'getFirstAvailableBlock')).toBe(first);
    expect(await rpcResult(url, 'minimumLedgerSlot')).toBe(first);
    expect(await statusOf(url, tx.signature)).toBeNull();
    expect(await rpcResult(url, 'getTransaction', tx.signature, 'base64')).toBeNull();
    expect((await rpcAnswer(url, 'getBlockTime', slot)).error).toEqual({
      code: -32_001,
      message: `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
    });
  });
});

describe('rules', () => {
  const drawn = (seed: number, rules: readonly FaultRule[]): readonly string[] => {
    const faults = new Faults(rules, seed);
    return Array.from({ length: 200 }, () => faults.forCall('getSlot').kind);
  };

  it('come by their rate, the same for the same seed', () => {
    const rules = readFaultRules([
      { fault: 'busy', rate: 0.2 },
      { fault: 'hang', rate: 0.1 },
    ]);
    expect(drawn(5, rules)).toEqual(drawn(5, rules));
    expect(drawn(5, rules)).not.toEqual(drawn(6, rules));
    const count = (kind: string): number => drawn(5, rules).filter((each) => each === kind).length;
    expect(count('busy')).toBeGreaterThan(15);
    expect(count('busy')).toBeLessThan(60);
    expect(count('hang')).toBeGreaterThan(5);
  });

  it('let some pass first, come so many times, and only to their methods', () => {
    const faults = new Faults(
      readFaultRules([{ fault: 'busy', after: 2, times: 2, methods: ['getSlot'] }]),
      1,
    );
    const kinds = ['getSlot', 'getSlot', 'getHealth', 'getSlot', 'getSlot', 'getSlot'].map(
      (method) => faults.forCall(method).kind,
    );
    expect(kinds).toEqual(['none', 'none', 'none', 'busy', 'busy', 'none']);
  });

  it.each([
    [{}, 'Faults: expected a list of rules.'],
    [[{ fault: 'burn' }], 'Faults: rule 1: fault is one of drop, late, '],
    [[{ fault: 'drop' }, { fault: 'drop', slots: 3 }], 'Faults: rule 2: drop has no field "slots".'],
    [[{ fault: 'late', rate: 2 }], 'Faults: rule 1: rate is a number from 0 to 1.'],
    [[{ fault: 'wrong', as: 'xml' }], 'Faults: rule 1: as is one of html, '],
    [[null], 'Faults: rule 1: it is no object.'],
  ])('that are none are refused: %j', (json, message) => {
    expect(() => readFaultRules(json)).toThrow(message);
  });
});
