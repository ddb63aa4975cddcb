/** The misbehaving cluster of the tests does to transactions what its faults say. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { removeDirectories } from '../../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { rpcResult, statusOf } from '../../support/rpc-call.js';
import { paid, payment, sent } from '../../support/rpc-payments.js';
import type { FaultRule } from '../../support/test-cluster/faults.js';

afterEach(closeTestNodes);
afterAll(removeDirectories);

const TERMS = { confirmedAfter: 2, finalizedAfter: 31 } as const;
const withFaults = (...faults: FaultRule[]): Promise<TestNode> => startTestNode({ ...TERMS, faults });

describe('without faults', () => {
  it('a transaction is processed, confirmed two slots later and final after 31', async () => {
    const { url, advance } = await withFaults();
    const tx = await payment(url);
    expect((await sent(url, tx)).result).toBe(tx.signature);
    expect(await statusOf(url, tx.signature)).toMatchObject({
      confirmationStatus: 'processed',
      confirmations: 0,
    });
    expect([await paid(url), await paid(url, 'confirmed')]).toEqual([1_000_000, 0]);
    advance(3);
    expect(await statusOf(url, tx.signature)).toMatchObject({ confirmationStatus: 'confirmed' });
    expect([await paid(url, 'confirmed'), await paid(url, 'finalized')]).toEqual([1_000_000, 0]);
    advance(31);
    expect(await statusOf(url, tx.signature)).toMatchObject({
      confirmationStatus: 'finalized',
      confirmations: null,
    });
    expect(await paid(url, 'finalized')).toBe(1_000_000);
  });

  it('a repeat is told to be one by preflight, and lands once without it', async () => {
    const { url, advance } = await withFaults();
    const tx = await payment(url);
    await sent(url, tx);
    expect((await sent(url, tx)).error).toMatchObject({ code: -32_002, data: { err: 'AlreadyProcessed' } });
    expect((await sent(url, tx, { skipPreflight: true })).result).toBe(tx.signature);
    advance(3);
    expect(await paid(url)).toBe(1_000_000);
  });

  it('a blockhash is good for 150 blocks and not for one more', async () => {
    const { url, advance } = await withFaults();
    const [last, late] = [await payment(url, 1n), await payment(url, 2n)];
    advance(149);
    await sent(url, last, { skipPreflight: true });
    expect(await statusOf(url, last.signature)).not.toBeNull();
    await sent(url, late, { skipPreflight: true });
    advance(10);
    expect(await statusOf(url, late.signature)).toBeNull();
    expect((await sent(url, late)).error).toMatchObject({
      code: -32_002,
      data: { err: 'BlockhashNotFound' },
    });
  });
});

describe('drop', () => {
  it('answers and forgets the transaction; a repeat lands', async () => {
    const { url, advance } = await withFaults({ fault: 'drop', times: 1 });
    const tx = await payment(url);
    expect((await sent(url, tx)).result).toBe(tx.signature);
    advance(10);
    expect(await statusOf(url, tx.signature)).toBeNull();
    await sent(url, tx);
    expect(await statusOf(url, tx.signature)).not.toBeNull();
  });
});

describe('late', () => {
  it('lands so many slots later', async () => {
    const { url, advance } = await withFaults({ fault: 'late', slots: 7 });
    const tx = await payment(url);
    await sent(url, tx);
    advance(4);
    expect(await statusOf(url, tx.signature)).toBeNull();
    advance(4);
    expect(await statusOf(url, tx.signature)).toMatchObject({ err: null });
  });
});

describe('duplicate', () => {
  it('lands once', async () => {
    const { url, advance } = await withFaults({ fault: 'duplicate' });
    await sent(url, await payment(url));
    advance(5);
    expect(await paid(url)).toBe(1_000_000);
  });
});

describe('expire', () => {
  it('never lands, however often it is sent, and is proven expired by its height', async () => {
    const { url, advance } = await withFaults({ fault: 'expire', times: 1 });
    const { value } = await rpcResult<{ value: { lastValidBlockHeight: number } }>(
      url,
      'getLatestBlockhash',
      { commitment: 'processed' },
    );
    const tx = await payment(url);
    for (let times = 0; times < 3; times += 1) expect((await sent(url, tx)).result).toBe(tx.signature);
    advance(190);
    const { blockHeight } = await rpcResult<{ blockHeight: number }>(url, 'getEpochInfo');
    expect(blockHeight).toBeGreaterThan(value.lastValidBlockHeight);
    expect(await statusOf(url, tx.signature)).toBeNull();
    expect(await paid(url)).toBe(0);
  });
});

describe('rollback', () => {
  it('shows a transaction as confirmed, then takes it back, and it lands once more', async () => {
    const { url, advance } = await withFaults({ fault: 'rollback', slots: 5, times: 1 });
    const tx = await payment(url);
    advance(1);
    await sent(url, tx);
    const { slot } = (await statusOf(url, tx.signature)) ?? { slot: 0 };
    advance(3);
    expect(await statusOf(url, tx.signature)).toMatchObject({ slot, confirmationStatus: 'confirmed' });
    expect(await paid(url, 'confirmed')).toBe(1_000_000);
    advance(4);
    const again = await statusOf(url, tx.signature);
    expect(again?.slot).toBeGreaterThan(slot);
    expect(await paid(url)).toBe(1_000_000);
    advance(31);
    expect(await paid(url, 'finalized')).toBe(1_000_000);
  });

  it('forgets a lost one for good, and nothing of it was ever in the ledger', async () => {
    const { url, advance, cluster } = await withFaults({ fault: 'rollback', slots: 4, lost: true, times: 1 });
    const tx = await payment(url);
    await sent(url, tx);
    advance(3);
    expect(await statusOf(url, tx.signature)).toMatchObject({ confirmationStatus: 'confirmed' });
    expect(cluster.transactionCount()).toBe(0);
    advance(40);
    expect(await statusOf(url, tx.signature)).toBeNull();
    expect([await paid(url), await paid(url, 'finalized')]).toEqual([0, 0]);
    await sent(url, tx);
    expect(await paid(url)).toBe(1_000_000);
  });

  it('takes the blockhashes of the fork with it', async () => {
    const { url, advance } = await withFaults({ fault: 'rollback', slots: 4, times: 1 });
    await sent(url, await payment(url));
    const onFork = await payment(url, 5n);
    const { value: isGood } = await rpcResult<{ value: boolean }>(
      url,
      'isBlockhashValid',
      await hashOf(url),
      { commitment: 'processed' },
    );
    expect(isGood).toBe(true);
    const hash = await hashOf(url);
    advance(6);
    const after = await rpcResult<{ value: boolean }>(url, 'isBlockhashValid', hash, {
      commitment: 'processed',
    });
    expect(after.value).toBe(false);
    await sent(url, onFork, { skipPreflight: true });
    advance(10);
    expect(await statusOf(url, onFork.signature)).toBeNull();
  });

  it('runs later transactions of the fork on the state of the fork', async () => {
    const { url, advance } = await withFaults({ fault: 'rollback', slots: 8, lost: true, times: 1 });
    const [lost, kept] = [await payment(url, 1_000_000n), await payment(url, 2_000_000n)];
    await sent(url, lost);
    await sent(url, kept);
    expect(await paid(url)).toBe(3_000_000);
    advance(10);
    expect(await paid(url)).toBe(2_000_000);
    expect(await statusOf(url, lost.signature)).toBeNull();
  });
});

const hashOf = async (url: string): Promise<string> =>
  (await rpcResult<{ value: { blockhash: string } }>(url, 'getLatestBlockhash', { commitment: 'processed' }))
    .value.blockhash;
