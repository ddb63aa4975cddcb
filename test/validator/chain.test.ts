/** The contract of the `Chain` port on a validator: VALIDATOR_URL is its JSON-RPC address, and it grants airdrops. */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleSizeOf, type Chain, type Sought, type Trace } from '../../src/chain/chain.js';
import { transfer } from '../../src/chain/small-programs.js';
import {
  createKeypairSigner,
  generateKeypair,
  type KeypairSigner,
} from '../../src/chain/transaction/sign.js';
import { compileLegacyMessage } from '../../src/chain/transaction/wire.js';
import { signTransaction } from '../support/chain.js';
import { chainOf, payerOn } from './validator.js';

const url = process.env['VALIDATOR_URL'] ?? '';
const SOL = 1_000_000_000n;
const FEE = 5_000n;

const fresh = (): KeypairSigner => createKeypairSigner(generateKeypair());

describe('a validator', () => {
  let chain: Chain;
  let payer: KeypairSigner;

  beforeAll(async () => {
    chain = chainOf(url);
    payer = await payerOn(url, chain);
  });

  const pay = async (to: KeypairSigner, lamports: bigint, from = payer) => {
    const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
    const instructions = [transfer({ from: from.address, to: to.address, lamports })];
    const message = compileLegacyMessage({ payer: from.address, instructions, blockhash });
    return { ...signTransaction(message, [from]), blockhash, lastValidBlockHeight };
  };
  const balance = async (of: KeypairSigner): Promise<bigint> =>
    (await chain.getAccounts([of.address]))[0]?.lamports ?? 0n;
  const ended = async (sought: Sought): Promise<Trace | undefined> => {
    for (;;) {
      const [trace] = await chain.trace([sought]);
      if (trace?.kind !== 'open') return trace;
      await setTimeout(chain.pollMs ?? 0);
    }
  };

  it('lands a transaction, charges its fee and tells of it by its signature', async () => {
    const [before, to] = [await balance(payer), fresh()];
    const sent = await pay(to, SOL);
    expect(await chain.lookUp([sent.signature])).toEqual([null]);
    expect(await chain.submit([sent.bytes], [true])).toEqual([null]);
    expect(await ended(sent)).toMatchObject({ kind: 'landed', record: { error: null, feeLamports: FEE } });
    expect([await balance(to), await balance(payer)]).toEqual([SOL, before - SOL - FEE]);
    const [record] = await chain.lookUp([sent.signature]);
    expect(Buffer.from(record?.wire ?? [])).toEqual(Buffer.from(sent.bytes));
    expect(record).toMatchObject({ signature: sent.signature, error: null, feeLamports: FEE });
    expect(record?.logs.length).toBeGreaterThan(0);
  });

  it('takes a signature again without any effect', async () => {
    const to = fresh();
    const sent = await pay(to, SOL);
    expect(await chain.submit([sent.bytes, sent.bytes])).toEqual([null, null]);
    await ended(sent);
    expect(await chain.submit([sent.bytes])).toEqual([null]);
    expect(await ended(sent)).toMatchObject({ kind: 'landed' });
    expect(await balance(to)).toBe(SOL);
  });

  it('lands a failed transaction as failed and keeps its fee', async () => {
    const before = await balance(payer);
    const sent = await pay(fresh(), before * 2n);
    expect(await chain.submit([sent.bytes])).toEqual([null]);
    expect(await ended(sent)).toMatchObject({
      kind: 'landed',
      record: { error: { kind: 'instruction', index: 0, custom: 1 } },
    });
    expect(await balance(payer)).toBe(before - FEE);
  });

  it('refuses what is new and cannot start, or would fail, before any node has it', async () => {
    const [poor, dear] = [await pay(fresh(), 1n, fresh()), await pay(fresh(), 10_000n * SOL)];
    const receipt = await chain.submit([poor.bytes, dear.bytes], [true, true]);
    expect(receipt.map((refusal) => refusal?.error)).toEqual([
      { kind: 'transaction', error: 'AccountNotFound' },
      { kind: 'instruction', index: 0, custom: 1 },
    ]);
    expect(await chain.lookUp([poor.signature, dear.signature])).toEqual([null, null]);
  });

  it('sends bundles of one, the first alone', async () => {
    const [first, second] = [await pay(fresh(), SOL), await pay(fresh(), 2n * SOL)];
    expect(bundleSizeOf(chain)).toBe(1);
    expect(await chain.submitBundles([[first.bytes], [second.bytes]], [true, true])).toEqual([null]);
    expect(await ended(first)).toMatchObject({ kind: 'landed' });
    expect(await chain.lookUp([second.signature])).toEqual([null]);
  });

  it('says of a young signature that was never sent that it is open', async () => {
    const sent = await pay(fresh(), SOL);
    expect(await chain.isBlockhashValid(sent.blockhash)).toBe(true);
    expect(await chain.trace([sent])).toMatchObject([{ kind: 'open' }]);
    expect(await chain.expiredHeight()).toBeLessThan(sent.lastValidBlockHeight);
  });

  it('proves of one whose time is over that it never lands, and not before', async () => {
    const sent = await pay(fresh(), SOL);
    expect(await ended(sent)).toEqual({ kind: 'never' });
    expect(await chain.isBlockhashValid(sent.blockhash)).toBe(false);
    expect(sent.lastValidBlockHeight).toBeLessThanOrEqual(await chain.expiredHeight());
  });

  it('tells accounts in the order asked for, and of none that is not there', async () => {
    const [there, not] = [payer.address, fresh().address];
    const states = await chain.getAccounts([not, there, not]);
    expect(states.map((state) => state === null)).toEqual([true, false, true]);
  });

  it('tells the past of an account', async () => {
    const to = fresh();
    const sent = await pay(to, SOL);
    await chain.submit([sent.bytes], [true]);
    await ended(sent);
    expect(await chain.history(to.address, {})).toMatchObject([{ signature: sent.signature, memo: null }]);
  });
});
