/** The node of `flywheel local rpc` with other processes on its ledger, across restarts, and with history. */
import { afterEach, describe, expect, it } from 'vitest';
import { openLocalChain } from '../../../src/chain/local/local-chain.js';
import { transfer } from '../../../src/chain/small-programs.js';
import { chainOptions, createToken, HandClock, namedSigner, signed, treasury } from '../../support/chain.js';
import { closeTestNodes, startPlainNode } from '../../support/local-rpc.js';
import { rpcResult, statusOf } from '../../support/rpc-call.js';
import { emptyDirectory } from '../../support/spawn.js';
import { paid, payee, payment, sent } from './rpc-payments.js';

afterEach(closeTestNodes);
const SLOT_MS = 400;
const slotAt = (url: string): Promise<number> => rpcResult(url, 'getSlot', { commitment: 'processed' });

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

  it('lands once, however often it is sent', async () => {
    const { url } = await startPlainNode();
    const tx = await payment(url);
    await sent(url, tx);
    expect((await sent(url, tx)).error).toMatchObject({ code: -32_002, data: { err: 'AlreadyProcessed' } });
    expect((await sent(url, tx, { skipPreflight: true })).result).toBe(tx.signature);
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

describe('beside other writers', () => {
  it('takes what was signed with a blockhash of theirs', async () => {
    const clock = new HandClock();
    const { url, directory } = await startPlainNode({ clock });
    const chain = await openLocalChain(chainOptions(directory, clock));
    const pay = transfer({ from: treasury.address, to: payee, lamports: 9_000_000n });
    const tx = await signed(chain, [treasury], [pay]);
    expect((await sent(url, tx)).result).toBe(tx.signature);
    expect(await chain.lookUp([tx.signature])).toMatchObject([{ error: null }]);
    await chain.close();
  });

  it('is in the same slot as another node', async () => {
    const clock = new HandClock();
    const one = await startPlainNode({ clock });
    const other = await startPlainNode({ clock, directory: one.directory });
    clock.timeMs += 7 * SLOT_MS;
    const tx = await payment(one.url);
    expect((await sent(other.url, tx)).result).toBe(tx.signature);
    expect(await statusOf(one.url, tx.signature)).toEqual(await statusOf(other.url, tx.signature));
    expect(await slotAt(one.url)).toBe(await slotAt(other.url));
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
