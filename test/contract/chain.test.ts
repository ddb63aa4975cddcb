/** What every implementation of the port `Chain` promises. */
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LAMPORTS_PER_SIGNATURE } from '../../src/chain/account.js';
import { BLOCKHASH_LIFETIME_MS, type Chain } from '../../src/chain/chain.js';
import { openLocalChain } from '../../src/chain/local/local-chain.js';
import { memo } from '../../src/chain/memo.js';
import { transfer } from '../../src/chain/system.js';
import type { SignedTransaction } from '../../src/chain/transaction/compile.js';
import type { KeypairSigner } from '../../src/chain/transaction/signer.js';
import {
  chainOptions,
  createToken,
  HandClock,
  namedSigner,
  removeDirectories,
  signed,
  signedWith,
  temporaryDirectory,
  treasury,
} from '../support/chain.js';

interface Implementation {
  readonly name: string;
  /** A new chain on which {@link treasury} can pay for anything. */
  open(clock: HandClock): Promise<Chain>;
}

const implementations: readonly Implementation[] = [
  { name: 'local', open: (clock) => openLocalChain(chainOptions(temporaryDirectory(), clock)) },
];

const SOL = 1_000_000_000n;
const FEE = LAMPORTS_PER_SIGNATURE;
const START_MS = Date.UTC(2026, 0, 31, 12);

afterAll(removeDirectories);

describe.each(implementations)('Chain: $name', ({ open }) => {
  const alice = namedSigner('alice');
  const bob = namedSigner('bob');
  let clock: HandClock;
  let chain: Chain;

  beforeEach(async () => {
    clock = new HandClock(START_MS);
    chain = await open(clock);
  });
  afterEach(() => chain.close());

  const pay = (
    to: KeypairSigner,
    lamports: bigint,
    from: KeypairSigner = treasury,
  ): Promise<SignedTransaction> =>
    signed(chain, [from], [transfer({ from: from.address, to: to.address, lamports })]);

  const balance = async (of: KeypairSigner): Promise<bigint> =>
    (await chain.getAccounts([of.address]))[0]?.lamports ?? 0n;

  /** Makes a block with one transaction; amounts differ, or the signature would be the same. */
  const mineBlocks = async (count: number): Promise<void> => {
    const { blockhash } = await chain.latestBlockhash();
    const transactions = Array.from({ length: count }, (_, index) => {
      const lamports = SOL + BigInt(index);
      return signedWith(
        blockhash,
        [treasury],
        [transfer({ from: treasury.address, to: namedSigner('miner').address, lamports })],
      ).bytes;
    });
    expect(await chain.submit(transactions)).toEqual(transactions.map(() => null));
  };

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
        slot: 1n,
        blockTimeMs: START_MS,
        error: null,
        feeLamports: FEE,
        computeUnits: 150n,
      });
      expect(record?.logs).toEqual([
        'Program 11111111111111111111111111111111 invoke [1]',
        'Program 11111111111111111111111111111111 success',
      ]);
      expect(Buffer.from((await chain.getTransaction(signature)) ?? [])).toEqual(Buffer.from(bytes));
    });

    it('takes a signature again without any effect', async () => {
      const { bytes } = await pay(alice, SOL);
      expect(await chain.submit([bytes, bytes])).toEqual([null, null]);
      expect(await chain.submit([bytes])).toEqual([null]);
      expect(await balance(alice)).toBe(SOL);
      expect(await chain.blockHeight()).toBe(1n);
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
      expect(await chain.blockHeight()).toBe(1n);
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

    it('burns a real token', async () => {
      const token = await createToken(chain, 1_000_000n);
      const burn = await signed(chain, [treasury], [token.burn(250_000n)]);
      const tooMuch = await signed(chain, [treasury], [token.burn(750_001n)]);
      expect(await chain.submit([burn.bytes, tooMuch.bytes])).toEqual([null, null]);
      expect(await token.supply(chain)).toBe(750_000n);
      expect(await token.balance(chain)).toBe(750_000n);
      const records = await chain.lookUp([tooMuch.signature, burn.signature]);
      expect(records.map((record) => record?.error)).toEqual([
        { kind: 'instruction', index: 0, custom: 1 },
        null,
      ]);
      expect(records[0]?.logs.join('\n')).toContain('insufficient funds');
    });
  });

  describe('blockhashes', () => {
    /** Lets the time pass that a blockhash lives once there is a newer one. */
    const passLifetime = async (): Promise<void> => {
      await mineBlocks(1);
      clock.timeMs += BLOCKHASH_LIFETIME_MS;
    };

    it('takes a blockhash until 150 blocks after its own, and not one longer', async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      expect(lastValidBlockHeight).toBe(150n);
      const inTime = signedWith(
        blockhash,
        [treasury],
        [transfer({ from: treasury.address, to: alice.address, lamports: SOL })],
      );
      const late = signedWith(
        blockhash,
        [treasury],
        [transfer({ from: treasury.address, to: bob.address, lamports: SOL })],
      );
      await passLifetime();
      await mineBlocks(148);
      expect(await chain.expiredHeight()).toBe(149n);

      expect(await chain.submit([inTime.bytes, late.bytes])).toEqual([
        null,
        { index: 1, error: { kind: 'transaction', error: 'BlockhashNotFound' }, logs: [] },
      ]);
      expect((await chain.lookUp([inTime.signature]))[0]?.slot).toBe(lastValidBlockHeight);
      expect(await balance(bob)).toBe(0n);
      // Landed before, so it is still taken, however old it is.
      expect(await chain.submit([inTime.bytes])).toEqual([null]);
    });

    it('takes a blockhash for a minute after there is a newer one, however many blocks pass', async () => {
      const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash();
      const pays = [1n, 2n, 3n].map((lamports) =>
        signedWith(
          blockhash,
          [treasury],
          [transfer({ from: treasury.address, to: alice.address, lamports: lamports * SOL })],
        ),
      );
      const [soon, inTime, late] = pays.map(({ bytes }) => bytes);
      const submit = (bytes: Uint8Array | undefined) => chain.submit(bytes === undefined ? [] : [bytes]);
      // It was the newest for an hour; that does not count.
      clock.timeMs += 3_600_000;
      for (let blocks = 0; blocks < 4; blocks += 1) await mineBlocks(100 + blocks);
      expect(await submit(soon)).toEqual([null]);
      clock.timeMs += BLOCKHASH_LIFETIME_MS - 1;
      await mineBlocks(1);
      expect(await chain.isBlockhashValid(blockhash)).toBe(true);
      expect(await chain.expiredHeight()).toBe(lastValidBlockHeight - 1n);
      expect(await submit(inTime)).toEqual([null]);
      clock.timeMs += 1;
      await mineBlocks(1);
      expect(await chain.isBlockhashValid(blockhash)).toBe(false);
      expect(await chain.expiredHeight()).toBeGreaterThanOrEqual(lastValidBlockHeight);
      const refused = { index: 0, error: { kind: 'transaction', error: 'BlockhashNotFound' }, logs: [] };
      expect(await submit(late)).toEqual([refused]);
      // What has expired once stays so, also for a clock that goes back.
      clock.timeMs -= 3_600_000;
      await mineBlocks(1);
      expect(await submit(late)).toEqual([refused]);
      expect(await submit(inTime)).toEqual([null]);
    });

    it('says that a blockhash has expired exactly when it takes it no more', async () => {
      const seen: { blockhash: string; lastValidBlockHeight: bigint }[] = [];
      let expired = 0n;
      for (const [blocks, passMs] of [
        [100, 0],
        [30, 20_000],
        [100, 20_000],
        [1, 19_999],
        [1, 1],
        [149, 1],
        [1, 60_000],
        [160, 30_000],
        [1, 90_000],
        [0, -100_000],
        [3, 0],
      ] as const) {
        for (let block = 0; block < blocks; block += 1) {
          seen.push(await chain.latestBlockhash());
          await mineBlocks(1);
        }
        clock.timeMs += passMs;
        const before = expired;
        expired = await chain.expiredHeight();
        expect(expired).toBeGreaterThanOrEqual(before);
        for (const { blockhash, lastValidBlockHeight } of seen)
          expect(await chain.isBlockhashValid(blockhash)).toBe(lastValidBlockHeight > expired);
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

    it('gives every block a hash of its own', async () => {
      const hashes = new Set<string>();
      for (let block = 0; block < 5; block += 1) {
        hashes.add((await chain.latestBlockhash()).blockhash);
        await mineBlocks(1);
      }
      expect(hashes.size).toBe(5);
      expect((await chain.latestBlockhash()).lastValidBlockHeight).toBe(155n);
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
    it('lands a bundle as one block, in its order', async () => {
      const first = await pay(alice, SOL);
      const second = await pay(bob, SOL / 2n, alice);
      expect(await chain.submitBundles([[first.bytes, second.bytes]])).toEqual([null]);
      expect(await chain.blockHeight()).toBe(1n);
      expect(await balance(bob)).toBe(SOL / 2n);
      const records = await chain.lookUp([first.signature, second.signature]);
      expect(records.map((record) => record?.slot)).toEqual([1n, 1n]);
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
      expect(await chain.blockHeight()).toBe(0n);
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
      expect(await chain.getTransaction('not a signature')).toBeNull();
      expect(await chain.submit([])).toEqual([]);
      expect(await chain.submitBundles([])).toEqual([]);
    });

    it('knows the past of an account: what succeeded and names it, newest first, with its memos', async () => {
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
      const past = await chain.pastOf(alice.address, 0);
      expect(past.map(({ signature, memo: text }) => [signature, text])).toEqual([
        [later.signature, '[1] a; [2] é'],
        [first.signature, null],
      ]);
      expect(past.map(({ blockTimeMs }) => blockTimeMs)).toEqual([
        (await chain.lookUp([later.signature]))[0]?.blockTimeMs,
        START_MS,
      ]);
      expect(await chain.pastOf(alice.address, START_MS + 1)).toHaveLength(1);
      expect(await chain.pastOf(namedSigner('nobody').address, 0)).toEqual([]);
    });

    it('forgets an account that is emptied', async () => {
      await chain.submit([(await pay(alice, SOL)).bytes]);
      await chain.submit([(await pay(bob, SOL - FEE, alice)).bytes]);
      expect(await chain.getAccounts([alice.address])).toEqual([null]);
    });
  });
});
