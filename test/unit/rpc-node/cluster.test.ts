/** A node beside others on one ledger, over restarts, and with a past. */
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openLedgerBank } from '../../../src/chain/local/ledger-bank.js';
import { openLocalChain } from '../../../src/chain/local/local-chain.js';
import { transfer } from '../../../src/chain/system.js';
import { startRpcNode } from '../../../src/rpc-node/rpc-node.js';
import { type Clock, systemClock } from '../../../src/values/time.js';
import {
  chainOptions,
  HandClock,
  namedSigner,
  removeDirectories,
  signed,
  temporaryDirectory,
  treasury,
} from '../../support/chain.js';
import { closeTestNodes, startTestNode, type TestNode } from '../../support/local-rpc.js';
import { rpcResult, statusOf } from '../../support/rpc-call.js';
import { paid, payee, payment, sent } from '../../support/rpc-payments.js';
import { waitFor } from '../../support/web3.js';

afterEach(closeTestNodes);
afterAll(removeDirectories);

const TERMS = { confirmedAfter: 2, finalizedAfter: 31 } as const;

/** Another process on the ledger of a node. */
async function payBeside(
  { directory }: TestNode,
  lamports: bigint,
  clock: Clock = systemClock,
): Promise<string> {
  const chain = await openLocalChain(chainOptions(directory, clock));
  const pay = transfer({ from: treasury.address, to: payee, lamports });
  const { bytes, signature } = await signed(chain, [treasury], [pay]);
  expect(await chain.submit([bytes])).toEqual([null]);
  await chain.close();
  return signature;
}

describe('a ledger with other writers', () => {
  it('shows what they do with the next request, and older states as they were', async () => {
    const node = await startTestNode(TERMS);
    await sent(node.url, await payment(node.url, 1_000_000n));
    const before = node.cluster.slotOf('processed');
    const signature = await payBeside(node, 2_000_000n, new HandClock(node.nowMs() + 60_000));
    expect(await paid(node.url)).toBe(3_000_000);
    const { slot } = (await statusOf(node.url, signature)) ?? { slot: 0 };
    expect(slot).toBeGreaterThan(before);
    node.faults.set([{ fault: 'behind', slots: node.cluster.slotOf('processed') - before }]);
    expect(await paid(node.url)).toBe(1_000_000);
  });

  it('takes what was signed with a blockhash of the ledger itself', async () => {
    const node = await startTestNode(TERMS);
    const chain = await openLocalChain(chainOptions(node.directory, systemClock));
    const tx = await signed(
      chain,
      [treasury],
      [transfer({ from: treasury.address, to: payee, lamports: 9_000_000n })],
    );
    expect((await sent(node.url, tx)).result).toBe(tx.signature);
    expect(await chain.lookUp([tx.signature])).toMatchObject([{ error: null }]);
    await chain.close();
  });

  it('says of a blockhash of the ledger that it is good for as long as the state is that was asked for', async () => {
    const clock = new HandClock(Date.now());
    const node = await startTestNode({ ...TERMS, clock });
    const chain = await openLocalChain(chainOptions(node.directory, clock));
    const { blockhash } = await chain.latestBlockhash();
    const isGood = async (commitment: string): Promise<boolean> =>
      (await rpcResult<{ value: boolean }>(node.url, 'isBlockhashValid', blockhash, { commitment })).value;
    for (let block = 0; block < 151; block += 1) {
      if (block === 1) clock.timeMs += 61_000;
      const pay = transfer({ from: treasury.address, to: payee, lamports: 1_000_000n + BigInt(block) });
      expect(await chain.submit([(await signed(chain, [treasury], [pay])).bytes])).toEqual([null]);
    }
    expect(await chain.isBlockhashValid(blockhash)).toBe(false);
    await chain.close();
    expect([await isGood('processed'), await isGood('finalized')]).toEqual([false, true]);
    node.advance(35);
    expect(await isGood('finalized')).toBe(false);
  });

  it('keeps what they do when a fork comes to nothing', async () => {
    const node = await startTestNode({
      ...TERMS,
      faults: [{ fault: 'rollback', slots: 8, lost: true, times: 1 }],
    });
    await sent(node.url, await payment(node.url, 1_000_000n));
    const signature = await payBeside(node, 2_000_000n);
    node.advance(12);
    expect(await paid(node.url)).toBe(2_000_000);
    expect(await statusOf(node.url, signature)).toMatchObject({ err: null });
  });

  it('tries again what it could not write', async () => {
    const directory = temporaryDirectory();
    await (await openLocalChain(chainOptions(directory, systemClock))).close();
    const bank = await openLedgerBank({ path: join(directory, 'ledger.db') });
    const land = bank.land.bind(bank);
    let refusals = 2;
    bank.land = (...all) => {
      refusals -= 1;
      if (refusals >= 0) throw new TypeError('busy');
      return land(...all);
    };
    const failures: unknown[] = [];
    const node = await startRpcNode(
      { ledger: bank, clock: systemClock, slotMs: 20, onFailure: (error) => void failures.push(error) },
      { host: '127.0.0.1', port: 0 },
    );
    const tx = await payment(node.url);
    await sent(node.url, tx);
    while ((await statusOf(node.url, tx.signature)) === null)
      await new Promise((resolve) => void setImmediate(resolve));
    expect(failures).toHaveLength(2);
    await node.close();
  });
});

describe('the clock', () => {
  it('is not waited for when it is set back under a node', async () => {
    let apartMs = 0;
    const terms = {
      ...TERMS,
      slotMs: 20,
      clock: { nowMs: () => Date.now() + apartMs },
      pace: 'clock',
    } as const;
    const node = await startTestNode(terms);
    for (const setBackMs of [600_000, 0, 3_600_000]) {
      apartMs -= setBackMs;
      const before = node.cluster.slotOf('processed');
      await waitFor(() => node.cluster.slotOf('processed') > before + 3);
    }
    const tx = await payment(node.url);
    await sent(node.url, tx, { skipPreflight: true });
    await waitFor(() => node.cluster.find(tx.signature, node.cluster.slotOf('processed')) !== null);
    const told = node.cluster.slotOf('processed');
    const next = await startTestNode({ ...terms, directory: node.directory });
    expect(next.cluster.slotOf('finalized')).toBeGreaterThanOrEqual(told);
  });
});

describe('a restart', () => {
  it('keeps the slots of what has landed, also when slots are of another length from then on', async () => {
    const clock = new HandClock();
    const first = await startTestNode({ ...TERMS, slotMs: 400, clock });
    const tx = await payment(first.url);
    first.advance(5);
    await sent(first.url, tx);
    const before = await statusOf(first.url, tx.signature);
    const height = await rpcResult<number>(first.url, 'getBlockHeight', { commitment: 'processed' });
    await first.close();
    for (const slotMs of [50, 1_000]) {
      const next = await startTestNode({ ...TERMS, slotMs, clock, directory: first.directory });
      expect((await statusOf(next.url, tx.signature))?.slot).toBe(before?.slot);
      expect(await rpcResult<number>(next.url, 'getBlockHeight')).toBeGreaterThanOrEqual(height);
      await sent(next.url, await payment(next.url, BigInt(slotMs)), { skipPreflight: true });
      await next.close();
    }
  });

  it('does not go back to an earlier slot, however short before it something landed', async () => {
    const clock = new HandClock();
    const slotMs = 40;
    const directory = (await startTestNode({ ...TERMS, slotMs, clock })).directory;
    const startMs = clock.timeMs;
    await closeTestNodes();
    for (let rest = 1; rest < slotMs; rest += 7) {
      clock.timeMs += 10 * slotMs + rest;
      const first = await startTestNode({ ...TERMS, slotMs, clock, directory, pace: 'clock' });
      await payBeside(first, BigInt(1_000_000 + rest), clock);
      await first.close();
      const second = await startTestNode({ ...TERMS, slotMs, clock, directory, pace: 'clock' });
      const atStart = second.cluster.slotOf('processed');
      // Just before a slot begins by the clock.
      clock.timeMs += 4 * slotMs - ((clock.timeMs - startMs) % slotMs) - 1;
      await waitFor(() => second.cluster.slotOf('processed') > atStart);
      const atEnd = second.cluster.slotOf('processed');
      await second.close();
      const third = await startTestNode({ ...TERMS, slotMs, clock, directory, pace: 'clock' });
      expect(third.cluster.slotOf('finalized')).toBe(atEnd);
      await third.close();
      clock.timeMs += 1;
    }
  });

  it('goes on where another left off far ahead of the clock, or a clock has been set back', async () => {
    const clock = new HandClock();
    const onDemand = await startTestNode({ ...TERMS, clock });
    const { directory } = onDemand;
    await sent(onDemand.url, await payment(onDemand.url));
    // None of these slots has anything in it.
    onDemand.advance(5_000);
    let newest = onDemand.cluster.slotOf('processed');
    await onDemand.close();
    const start = (slotMs?: number) =>
      startTestNode({ ...TERMS, ...(slotMs && { slotMs }), clock, directory, pace: 'clock' });
    for (const { passMs, slotMs } of [
      { passMs: 10 * 400 },
      { passMs: 0 },
      { passMs: -3_600_000 },
      { passMs: 5 * 400, slotMs: 50 },
      { passMs: -1_000, slotMs: 50 },
    ]) {
      clock.timeMs += passMs;
      const node = await start(slotMs);
      expect(node.cluster.slotOf('finalized')).toBeGreaterThanOrEqual(newest);
      clock.timeMs += 10 * 400;
      newest = node.cluster.slotOf('processed') + 1;
      await waitFor(() => node.cluster.slotOf('processed') > newest);
      newest = node.cluster.slotOf('processed');
      await node.close();
    }
  });

  it('goes on after what a killed node told of, on demand and far ahead of the clock', async () => {
    const clock = new HandClock();
    const killed = await startTestNode({ ...TERMS, clock });
    const { directory } = killed;
    for (const pace of ['on-demand', 'clock'] as const) {
      killed.advance(100);
      // Its note is as it stood; it has not ended.
      const next = await startTestNode({ ...TERMS, clock, directory, pace });
      expect(next.cluster.slotOf('finalized')).toBeGreaterThanOrEqual(killed.cluster.slotOf('processed'));
      expect(next.cluster.slotOf('finalized')).toBeLessThan(killed.cluster.slotOf('processed') + 130);
    }
  });

  it('goes on counting where the ledger is ahead of the clock', async () => {
    const ahead = await startTestNode(TERMS);
    ahead.advance(5_000);
    await sent(ahead.url, await payment(ahead.url));
    await ahead.close();
    const node = await startTestNode({ directory: ahead.directory, pace: 'clock' });
    const slot = node.cluster.slotOf('processed');
    expect(slot).toBeGreaterThan(6_000);
    await waitFor(() => node.cluster.slotOf('processed') > slot + 1);
  });
});

describe('history', () => {
  const past = async (url: string, options: object = {}): Promise<readonly string[]> => {
    const found = await rpcResult<{ signature: string }[]>(url, 'getSignaturesForAddress', payee, {
      commitment: 'confirmed',
      ...options,
    });
    return found.map(({ signature }) => signature);
  };

  it('is told in pages, newest first, of those who are named only', async () => {
    const { url, advance } = await startTestNode(TERMS);
    const signatures: string[] = [];
    for (let round = 0; round < 7; round += 1) {
      const tx = await payment(url, 1_000_000n + BigInt(round));
      await sent(url, tx);
      signatures.unshift(tx.signature);
    }
    advance(3);
    expect(await past(url)).toEqual(signatures);
    expect(await past(url, { limit: 3 })).toEqual(signatures.slice(0, 3));
    expect(await past(url, { before: signatures[2], limit: 2 })).toEqual(signatures.slice(3, 5));
    expect(await past(url, { until: signatures[4] })).toEqual(signatures.slice(0, 4));
    expect(await past(url, { commitment: 'finalized' })).toEqual([]);
    const other = namedSigner('nobody').address;
    expect(await rpcResult(url, 'getSignaturesForAddress', other, { commitment: 'confirmed' })).toEqual([]);
  });

  it('beyond 300 slots is looked through only when that is asked for', async () => {
    const { url, advance } = await startTestNode(TERMS);
    const tx = await payment(url);
    await sent(url, tx);
    advance(310);
    const recent = await rpcResult<{ value: unknown[] }>(url, 'getSignatureStatuses', [tx.signature]);
    expect(recent.value).toEqual([null]);
    expect(await statusOf(url, tx.signature)).toMatchObject({ confirmationStatus: 'finalized' });
  });

  it('gives a transaction in the encoding and version that are asked for', async () => {
    const { url } = await startTestNode();
    const tx = await payment(url);
    await sent(url, tx);
    const get = (options: unknown) =>
      rpcResult<Record<string, never>>(url, 'getTransaction', tx.signature, options);
    await expect(get('base64')).rejects.toThrow('-32015');
    const options = { encoding: 'base64', maxSupportedTransactionVersion: 0 };
    expect(await get(options)).toMatchObject({
      transaction: [Buffer.from(tx.bytes).toString('base64'), 'base64'],
      version: 0,
      meta: { err: null, fee: 5_000, computeUnitsConsumed: 150 },
    });
    await expect(get({ ...options, commitment: 'processed' })).rejects.toThrow('-32602');
    expect(await get({ ...options, encoding: 'jsonParsed' })).toMatchObject({
      transaction: {
        message: {
          accountKeys: [
            { pubkey: treasury.address, signer: true, writable: true, source: 'transaction' },
            {},
            {},
          ],
        },
      },
    });
  });
});
