/** The node of `flywheel local rpc` with other processes on its ledger, across restarts, and with history. */
import { afterEach, describe, expect, it } from 'vitest';
import { openLocalChain } from '../../../src/chain/local/local-chain.js';
import { chainOptions, createToken, HandClock, namedSigner, treasury } from '../../support/chain.js';
import { rpcResult, statusOf } from '../../support/rpc-call.js';
import { emptyDirectory } from '../../support/spawn.js';
import { closeTestNodes, startPlainNode } from '../../test-cluster/node.js';
import { paid, payee, payment, sent } from './rpc-payments.js';

afterEach(closeTestNodes);
const SLOT_MS = 400;

describe('what was sent', () => {
  it('is in the ledger at once, confirmed two slots later and final after 31', async () => {
    const clock = new HandClock();
    const { url } = await startPlainNode({ clock });
    clock.timeMs += 40 * SLOT_MS;
    const tx = await payment(url);
    expect((await sent(url, tx)).result).toBe(tx.signature);
    const levels: unknown[] = [];
    for (const slots of [0, 2, 29]) {
      clock.timeMs += slots * SLOT_MS;
      levels.push((await statusOf(url, tx.signature))?.confirmationStatus);
    }
    expect(levels).toEqual(['processed', 'confirmed', 'finalized']);
    expect(await paid(url)).toBe(1_000_000);
  });

  it('keeps what it moved of tokens over a restart', async () => {
    const directory = emptyDirectory();
    const chain = await openLocalChain(chainOptions(directory, new HandClock()));
    const { account, mint } = await createToken(chain, 5_000_000n);
    await chain.close();
    const { url } = await startPlainNode({ directory });
    const [{ signature } = { signature: '' }] = await rpcResult<{ signature: string }[]>(
      url,
      'getSignaturesForAddress',
      account,
    );
    const { meta, transaction } = await rpcResult<{
      meta: { preTokenBalances: object[]; postTokenBalances: object[] };
      transaction: { message: { accountKeys: string[] } };
    }>(url, 'getTransaction', signature, { maxSupportedTransactionVersion: 0 });
    const accountIndex = transaction.message.accountKeys.indexOf(account);
    const of = (amount: string) => ({ accountIndex, mint, uiTokenAmount: { amount, decimals: 6 } });
    expect(meta.preTokenBalances).toEqual([]);
    expect(meta.postTokenBalances).toMatchObject([{ ...of('5000000'), owner: treasury.address }]);
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
    const clock = new HandClock();
    const { url } = await startPlainNode({ clock });
    clock.timeMs += 40 * SLOT_MS;
    const signatures: string[] = [];
    for (let round = 0; round < 7; round += 1) {
      const tx = await payment(url, 1_000_000n + BigInt(round));
      await sent(url, tx);
      signatures.unshift(tx.signature);
    }
    clock.timeMs += 3 * SLOT_MS;
    expect(await past(url)).toEqual(signatures);
    expect(await past(url, { limit: 3 })).toEqual(signatures.slice(0, 3));
    expect(await past(url, { before: signatures[2], limit: 2 })).toEqual(signatures.slice(3, 5));
    expect(await past(url, { until: signatures[4] })).toEqual(signatures.slice(0, 4));
    expect(await past(url, { commitment: 'finalized' })).toEqual([]);
    const other = namedSigner('nobody').address;
    expect(await rpcResult(url, 'getSignaturesForAddress', other, { commitment: 'confirmed' })).toEqual([]);
  });

  it('gives a transaction in the encoding and version that are asked for', async () => {
    const clock = new HandClock();
    const { url } = await startPlainNode({ clock });
    const tx = await payment(url);
    await sent(url, tx);
    clock.timeMs += 31 * SLOT_MS;
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
  });
});
