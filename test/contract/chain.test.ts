/** The contract of the `Chain` port, which every implementation must meet. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LAMPORTS_PER_SIGNATURE } from '../../src/chain/account.js';
import { type LocalChain, openLocalChain } from '../../src/chain/local/local-chain.js';
import { memo, transfer } from '../../src/chain/small-programs.js';
import type { KeypairSigner } from '../../src/chain/transaction/sign.js';
import {
  chainOptions,
  HandClock,
  namedSigner,
  type Signed,
  signed,
  signedWith,
  treasury,
} from '../support/chain.js';
import { emptyDirectory } from '../support/spawn.js';

const SOL = 1_000_000_000n;
const FEE = LAMPORTS_PER_SIGNATURE;
const SLOT_MS = 400;
const BLOCKHASH_LIFETIME_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 31, 12);

describe('Chain: local', () => {
  const alice = namedSigner('alice');
  const bob = namedSigner('bob');
  let clock: HandClock;
  let chain: LocalChain;

  beforeEach(async () => {
    clock = new HandClock(START_MS);
    chain = await openLocalChain(chainOptions(emptyDirectory(), clock));
  });
  afterEach(() => chain.close());

  const pay = (to: KeypairSigner, lamports: bigint, from: KeypairSigner = treasury): Promise<Signed> =>
    signed(chain, [from], [transfer({ from: from.address, to: to.address, lamports })]);

  const balance = async (of: KeypairSigner): Promise<bigint> =>
    (await chain.getAccounts([of.address]))[0]?.lamports ?? 0n;

  describe('submit', () => {
    it('lands a transaction, charges its fee and tells of it by its signature', async () => {
      const before = await balance(treasury);
      const { bytes, signature } = await pay(alice, SOL);
      expect(await chain.lookUp([signature])).toEqual([null]);

      expect(await chain.submit([bytes])).toEqual([null]);

      expect(await balance(alice)).toBe(SOL);
      expect(await balance(treasury)).toBe(before - SOL - FEE);
      const [record] = await chain.lookUp([signature]);
      expect(record).toMatchObject({
        signature,
        blockTimeMs: START_MS,
        error: null,
        feeLamports: FEE,
        computeUnits: 150n,
      });
      expect(record?.logs).toEqual([
        'Program 11111111111111111111111111111111 invoke [1]',
        'Program 11111111111111111111111111111111 success',
      ]);
      expect(Buffer.from(record?.wire ?? [])).toEqual(Buffer.from(bytes));
    });

    it('takes a signature again without any effect', async () => {
      const { bytes } = await pay(alice, SOL);
      expect(await chain.submit([bytes, bytes])).toEqual([null, null]);
      expect(await chain.submit([bytes])).toEqual([null]);
      expect(await balance(alice)).toBe(SOL);
    });

    it('lands a failed transaction as failed and keeps its fee', async () => {
      const before = await balance(treasury);
      const { bytes, signature } = await pay(alice, before * 2n);
      expect(await chain.submit([bytes])).toEqual([null]);
      const [record] = await chain.lookUp([signature]);
      expect(record?.error).toEqual({ kind: 'instruction', index: 0, custom: 1 });
      expect(await balance(treasury)).toBe(before - FEE);
      expect(await balance(alice)).toBe(0n);
    });

    it('rejects what cannot start, with its index, and goes on with the rest', async () => {
      const good = await pay(alice, SOL);
      const forged = Uint8Array.from((await pay(bob, SOL)).bytes);
      forged[5] = (forged[5] ?? 0) ^ 1;
      const poor = await signed(
        chain,
        [namedSigner('poor')],
        [transfer({ from: namedSigner('poor').address, to: bob.address, lamports: 1n })],
      );
      const before = await balance(treasury);

      const receipt = await chain.submit([forged, poor.bytes, Uint8Array.of(1, 2, 3), good.bytes]);

      expect(receipt.map((entry) => entry?.index ?? null)).toEqual([0, 1, 2, null]);
      expect(receipt.map((entry) => entry?.error ?? null)).toEqual([
        { kind: 'transaction', error: 'SignatureFailure' },
        { kind: 'transaction', error: 'AccountNotFound' },
        { kind: 'transaction', error: 'SanitizeFailure' },
        null,
      ]);
      expect(await balance(treasury)).toBe(before - SOL - FEE);
      expect(await chain.lookUp([poor.signature])).toEqual([null]);
    });

    it('rejects a transaction above the size of a packet', async () => {
      const many = Array.from({ length: 30 }, (_, index) =>
        transfer({ from: treasury.address, to: namedSigner(`many ${index}`).address, lamports: SOL }),
      );
      const { bytes } = await signed(chain, [treasury], many);
      expect(bytes.length).toBeGreaterThan(1_232);
      expect((await chain.submit([bytes]))[0]?.error).toEqual({
        kind: 'transaction',
        error: 'SanitizeFailure',
      });
    });

    it('lets a later transaction of a list use what an earlier one brought', async () => {
      const first = await pay(alice, SOL);
      const second = await pay(bob, SOL / 2n, alice);
      expect(await chain.submit([first.bytes, second.bytes])).toEqual([null, null]);
      expect(await balance(alice)).toBe(SOL - SOL / 2n - FEE);
      expect(await balance(bob)).toBe(SOL / 2n);
    });
  });

  describe('blockhashes', () => {
    const payWith = (blockhash: string, to: KeypairSigner): Signed =>
      signedWith(
        blockhash,
        [treasury],
        [transfer({ from: treasury.address, to: to.address, lamports: SOL })],
      );
    const expired = { index: 0, error: { kind: 'transaction', error: 'BlockhashNotFound' }, logs: [] };

    it('takes a blockhash for 150 blocks, which are a minute, and not one longer', async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      const [inTime, late] = [payWith(blockhash, alice), payWith(blockhash, bob)];
      clock.timeMs += BLOCKHASH_LIFETIME_MS;
      expect(await chain.expiredHeight()).toBe(lastValidBlockHeight - 1n);
      expect(await chain.submit([inTime.bytes])).toEqual([null]);

      clock.timeMs += SLOT_MS;
      expect(await chain.expiredHeight()).toBe(lastValidBlockHeight);
      expect(await chain.isBlockhashValid(blockhash)).toBe(false);
      expect(await chain.submit([late.bytes])).toEqual([expired]);
      expect(await balance(bob)).toBe(0n);
      // Landed before, so it is still accepted, however old it is.
      expect(await chain.submit([inTime.bytes])).toEqual([null]);
    });

    it('takes nothing any more that it has told to be expired, also for a clock that goes back', async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      const { bytes, signature } = payWith(blockhash, alice);
      const trace = async () => (await chain.trace([{ signature, lastValidBlockHeight }]))[0]?.kind;
      expect(await trace()).toBe('open');
      clock.timeMs += BLOCKHASH_LIFETIME_MS + SLOT_MS;
      expect(await trace()).toBe('never');
      for (const backMs of [BLOCKHASH_LIFETIME_MS, 3_600_000, 365 * 86_400_000]) {
        clock.timeMs -= backMs;
        expect(await chain.submit([bytes])).toEqual([expired]);
        expect(await trace()).toBe('never');
      }
    });

    it('goes on with its blocks where a clock jumped ahead, something landed, and it was set back', async () => {
      clock.timeMs += 365 * 86_400_000;
      const ahead = payWith((await chain.latestBlockhash()).blockhash, alice);
      expect(await chain.submit([ahead.bytes])).toEqual([null]);
      const { lastValidBlockHeight: last } = await chain.latestBlockhash();
      clock.timeMs -= 365 * 86_400_000;
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      expect(lastValidBlockHeight).toBe(last);
      clock.timeMs += BLOCKHASH_LIFETIME_MS + SLOT_MS;
      expect((await chain.latestBlockhash()).lastValidBlockHeight).toBe(last + 151n);
      expect(await chain.isBlockhashValid(blockhash)).toBe(false);
    });

    it('says that a blockhash has expired exactly when it takes it no more', async () => {
      const seen: { blockhash: string; lastValidBlockHeight: bigint }[] = [];
      let expiredHeight = 0n;
      for (const passMs of [0, 20_000, 20_000, 19_999, 1, 1, 60_000, 30_000, 90_000, -100_000, 400, 0]) {
        seen.push(await chain.latestBlockhash());
        clock.timeMs += passMs;
        const before = expiredHeight;
        expiredHeight = await chain.expiredHeight();
        expect(expiredHeight).toBeGreaterThanOrEqual(before);
        for (const { blockhash, lastValidBlockHeight } of seen)
          expect(await chain.isBlockhashValid(blockhash)).toBe(lastValidBlockHeight > expiredHeight);
      }
    });

    it('refuses a blockhash that never was', async () => {
      const { bytes } = signedWith(
        bob.address,
        [treasury],
        [transfer({ from: treasury.address, to: alice.address, lamports: SOL })],
      );
      expect((await chain.submit([bytes]))[0]?.error).toEqual({
        kind: 'transaction',
        error: 'BlockhashNotFound',
      });
    });

    it('never lets time go backwards', async () => {
      const first = await pay(alice, SOL);
      await chain.submit([first.bytes]);
      clock.timeMs -= 60_000;
      const second = await pay(bob, SOL);
      await chain.submit([second.bytes]);
      const records = await chain.lookUp([first.signature, second.signature]);
      expect(records.map((record) => record?.blockTimeMs)).toEqual([START_MS, START_MS]);
    });
  });

  describe('submitBundles', () => {
    it('lands a bundle in one block, in its order', async () => {
      const first = await pay(alice, SOL);
      const second = await pay(bob, SOL / 2n, alice);
      expect(await chain.submitBundles([[first.bytes, second.bytes]])).toEqual([null]);
      expect(await balance(bob)).toBe(SOL / 2n);
      const records = await chain.lookUp([first.signature, second.signature]);
      expect(records[0]?.slot).toBe(records[1]?.slot);
    });

    it('drops the whole bundle when one of it fails, and says which and why', async () => {
      const before = await balance(treasury);
      const good = await pay(alice, SOL);
      const bad = await pay(bob, before * 2n);
      const [rejection] = await chain.submitBundles([[good.bytes, bad.bytes]]);
      expect(rejection).toMatchObject({ index: 1, error: { kind: 'instruction', index: 0, custom: 1 } });
      expect(rejection?.logs.join('\n')).toContain('insufficient lamports');
      expect(await balance(treasury)).toBe(before);
      expect(await balance(alice)).toBe(0n);
      expect(await chain.lookUp([good.signature, bad.signature])).toEqual([null, null]);
    });

    it('stops at the first rejected bundle and keeps those before it', async () => {
      const first = await pay(alice, SOL);
      const bad = await pay(bob, 2n ** 62n);
      const third = await pay(bob, SOL);
      const receipt = await chain.submitBundles([[first.bytes], [bad.bytes], [third.bytes]]);
      expect(receipt).toHaveLength(2);
      expect(receipt[0]).toBeNull();
      expect(receipt[1]?.index).toBe(0);
      expect(await balance(alice)).toBe(SOL);
      expect(await balance(bob)).toBe(0n);
    });

    it('leaves nothing of a dropped bundle for those that come later', async () => {
      const fund = await pay(alice, SOL);
      const bad = await pay(bob, 2n ** 62n);
      await chain.submitBundles([[fund.bytes, bad.bytes]]);
      const spend = await pay(bob, 1n, alice);
      expect((await chain.submit([spend.bytes]))[0]?.error).toEqual({
        kind: 'transaction',
        error: 'AccountNotFound',
      });
    });

    it('takes a bundle that has landed already, and refuses one that has landed in part', async () => {
      const first = await pay(alice, SOL);
      const second = await pay(bob, SOL);
      const third = await pay(bob, 2n * SOL);
      expect(await chain.submitBundles([[first.bytes, second.bytes]])).toEqual([null]);
      expect(await chain.submitBundles([[first.bytes, second.bytes]])).toEqual([null]);
      expect(await chain.submitBundles([[third.bytes, second.bytes]])).toEqual([
        { index: 1, error: { kind: 'transaction', error: 'AlreadyProcessed' }, logs: [] },
      ]);
      expect(await chain.lookUp([third.signature])).toEqual([null]);
    });

    it('refuses a bundle that holds a transaction twice', async () => {
      const { bytes } = await pay(alice, SOL);
      const [rejection] = await chain.submitBundles([[bytes, bytes]]);
      expect(rejection?.index).toBe(1);
      expect(await balance(alice)).toBe(0n);
    });
  });

  describe('reading', () => {
    it('answers in the order asked for, with null for what is not there', async () => {
      await chain.submit([(await pay(alice, SOL)).bytes]);
      const accounts = await chain.getAccounts([bob.address, alice.address, bob.address]);
      expect(accounts.map((account) => account?.lamports ?? null)).toEqual([null, SOL, null]);
      expect(await chain.lookUp(['not a signature', ''])).toEqual([null, null]);
      expect(await chain.submit([])).toEqual([]);
      expect(await chain.submitBundles([])).toEqual([]);
    });

    it('knows the past of an account: what names it, newest first, with its memos', async () => {
      const first = await pay(alice, SOL);
      await chain.submit([first.bytes]);
      clock.timeMs += 5_000;
      const note = [memo('a', []), memo('é', [])];
      const toBob = transfer({ from: treasury.address, to: bob.address, lamports: SOL });
      const alone = await signed(chain, [treasury], [toBob]);
      const failing = await signed(
        chain,
        [alice],
        [transfer({ from: alice.address, to: bob.address, lamports: 9n * SOL })],
      );
      const later = await signed(chain, [alice], [...note]);
      await chain.submit([alone.bytes, failing.bytes, later.bytes]);
      const past = await chain.history(alice.address, {});
      expect(past.map(({ signature, failed, memo: text }) => [signature, failed, text])).toEqual([
        [later.signature, false, '[1] a; [2] é'],
        [failing.signature, true, null],
        [first.signature, false, null],
      ]);
      const laterMs = (await chain.lookUp([later.signature]))[0]?.blockTimeMs;
      expect(past.map(({ blockTimeMs }) => blockTimeMs)).toEqual([laterMs, laterMs, START_MS]);
      expect(await chain.history(alice.address, { sinceMs: START_MS + 1 })).toEqual(past.slice(0, 2));
      expect(await chain.history(alice.address, { limit: 1 })).toEqual(past.slice(0, 1));
      expect(past.every(({ isAgreed }) => isAgreed)).toBe(true);
      expect(await chain.history(namedSigner('nobody').address, {})).toEqual([]);
    });

    it('forgets an account that is emptied', async () => {
      await chain.submit([(await pay(alice, SOL)).bytes]);
      await chain.submit([(await pay(bob, SOL - FEE, alice)).bytes]);
      expect(await chain.getAccounts([alice.address])).toEqual([null]);
    });
  });
});
