/** The ledger's thread as it is built: what it does, says and leaves behind, beside the same work on the thread of the caller. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { type LocalChain, openLocalChain } from '../../src/chain/local/local-chain.js';
import { transfer } from '../../src/chain/system.js';
import type { SignedTransaction } from '../../src/chain/transaction/compile.js';
import { randomIds } from '../../src/values/ids.js';
import {
  chainOptions,
  HandClock,
  namedSigner,
  removeDirectories,
  signed,
  temporaryDirectory,
  treasury,
} from '../support/chain.js';
import { aBurnRequest, openTestEngine, tokensOf } from '../support/engine.js';
import { BUILT_THREAD } from '../support/ledger-thread.js';
import { rawSqlite } from '../support/store.js';

afterAll(removeDirectories);

const bob = namedSigner('bob').address;
const pay = (chain: LocalChain, lamports: bigint): Promise<SignedTransaction> =>
  signed(chain, [treasury], [transfer({ from: treasury.address, to: bob, lamports })]);
const SOL = 1_000_000_000n;

const somePayments = async (chain: LocalChain, count: number): Promise<readonly Uint8Array[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => (await pay(chain, SOL + BigInt(index))).bytes),
  );

/** How many requests the thread is sent meanwhile. */
async function countRequests(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function counted(this: Worker, message: unknown) {
    count += 1;
    post.call(this, message);
  };
  try {
    await work();
  } finally {
    Worker.prototype.postMessage = post;
  }
  return count;
}

const open = (directory = temporaryDirectory(), more = {}) =>
  openLocalChain({ ...chainOptions(directory), thread: BUILT_THREAD, ...more });

describe('a ledger with a thread', () => {
  it('takes what is submitted at once in its order, and closes behind it', async () => {
    const directory = temporaryDirectory();
    const chain = await open(directory);
    const payments = await Promise.all([1n, 2n, 3n].map((lamports) => pay(chain, SOL + lamports)));
    const submitted = payments.map(({ bytes }) => chain.submit([bytes]));
    await chain.close();
    expect(await Promise.all(submitted)).toEqual([[null], [null], [null]]);
    const again = await openLocalChain(chainOptions(directory));
    const records = await again.lookUp(payments.map(({ signature }) => signature));
    expect(records.map((record) => record?.slot)).toEqual([1n, 2n, 3n]);
    await again.close();
  });

  it('begins with the first call that is large enough, and takes all from then on', async () => {
    const chain = await open(temporaryDirectory(), { thread: { ...BUILT_THREAD, from: 2 } });
    const [a, b, c, d] = (await somePayments(chain, 4)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const requests = await countRequests(async () => {
      for (const some of [[a], [b, c], [d]]) await chain.submit(some);
    });
    expect(requests).toBe(2);
    await chain.close();
  });

  it('does not begin for few bundles, however much is in them', async () => {
    const chain = await open(temporaryDirectory(), { thread: { ...BUILT_THREAD, from: 2 } });
    const [a, b, c, d] = (await somePayments(chain, 4)) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    expect(await countRequests(() => chain.submitBundles([[a, b]]))).toBe(0);
    expect(await countRequests(() => chain.submitBundles([[c], [d]]))).toBe(1);
    await chain.close();
  });

  it('checks each signature but those that this process has just made', async () => {
    const chain = await open();
    const [first, second] = [await pay(chain, SOL), await pay(chain, 2n * SOL)];
    for (const { bytes } of [first, second]) bytes[5] = (bytes[5] ?? 0) ^ 1;
    const [copy, other] = [Uint8Array.from(first.bytes), Uint8Array.from(second.bytes)];
    const rejected = { error: { kind: 'transaction', error: 'SignatureFailure' } };
    expect(await chain.submit([copy, second.bytes, other])).toMatchObject([rejected, null, null]);
    expect(await chain.submitBundles([[first.bytes], [copy]])).toMatchObject([null, null]);
    await chain.close();
  });

  it('has the clock and the revision of the store of who asks', async () => {
    const directory = temporaryDirectory();
    const clock = new HandClock();
    let revision = 7;
    const chain = await open(directory, { clock, storeRevision: () => revision });
    for (const step of [1n, 2n]) {
      const { bytes, signature } = await pay(chain, SOL + step);
      await chain.submit([bytes]);
      expect((await chain.lookUp([signature]))[0]?.blockTimeMs).toBe(clock.timeMs);
      expect(chain.progress()).toMatchObject({ height: Number(step), storeRevision: revision });
      clock.timeMs += 60_000;
      revision += 5;
    }
    await chain.close();
  });

  it('says why it cannot write, as it is said without it', async () => {
    const failures = [];
    for (const thread of [BUILT_THREAD, undefined]) {
      const directory = temporaryDirectory();
      const chain = await openLocalChain({ ...chainOptions(directory), ...(thread && { thread }) });
      const [first, second] = [await pay(chain, SOL), await pay(chain, 2n * SOL)];
      await chain.submit([first.bytes]);
      const { path } = chainOptions(directory);
      renameSync(path, join(directory, 'elsewhere.db'));
      rawSqlite(path, 'create table other (id integer)');
      const failure = await chain.submit([second.bytes]).catch((error: unknown) => error);
      failures.push(failure);
      await chain.close();
    }
    const [own, other] = failures as [Error, Error];
    expect(own).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    const plain = ({ message }: Error) => message.replace(/\/\S+\//, '');
    expect(plain(own)).toBe(plain(other));
  });

  it('lets others write between two of its calls, however many wait for it', async () => {
    const directory = temporaryDirectory();
    const [chain, other] = [await open(directory), await openLocalChain(chainOptions(directory))];
    const [calls, each] = [20, 100];
    const payments = await Promise.all(
      Array.from({ length: calls * each }, (_, at) => pay(chain, SOL / 1_000n + BigInt(at))),
    );
    const own = await pay(other, SOL);
    const submitted = Array.from({ length: calls }, (_, call) =>
      chain.submit(payments.slice(call * each, (call + 1) * each).map(({ bytes }) => bytes)),
    );
    await submitted[0];
    await other.submit([own.bytes]);
    await Promise.all(submitted);
    const [record] = await other.lookUp([own.signature]);
    expect(Number(record?.slot)).toBeLessThan(calls * each);
    await Promise.all([chain.close(), other.close()]);
  });

  it('does not know what became of what a thread had that died, and goes on with another', async () => {
    const chain = await open();
    const [first, second, third] = await Promise.all([1n, 2n, 3n].map((more) => pay(chain, SOL + more)));
    const workers: Worker[] = [];
    const { ref } = Worker.prototype;
    Worker.prototype.ref = function noted(this: Worker) {
      workers.push(this);
      ref.call(this);
    };
    const bytesOf = (payment: SignedTransaction | undefined): Uint8Array => payment?.bytes ?? expect.fail();
    try {
      await chain.submit([bytesOf(first)]);
      const lost = chain.submit([bytesOf(second)]);
      await setImmediate();
      void workers[0]?.terminate();
      await expect(lost).rejects.toMatchObject({ code: 'ERR_UNAVAILABLE' });
      // The same bytes cannot land twice.
      expect(await chain.submit([bytesOf(second), bytesOf(third)])).toEqual([null, null]);
      expect(new Set(workers).size).toBe(2);
    } finally {
      Worker.prototype.ref = ref;
    }
    const [account] = await chain.getAccounts([bob]);
    expect(account?.lamports).toBe(3n * SOL + 6n);
    await chain.close();
  });
});

describe('burns on a thread', () => {
  it('are prepared while others run, each burned once, and the last that the wallet cannot pay are refused', async () => {
    const opened = await openTestEngine({ burnWalletTokens: '0.0003' }, { thread: BUILT_THREAD });
    const { engine, project, chain } = opened;
    const elements = Array.from({ length: 600 }, (_, order) =>
      aBurnRequest(0.000001, { proof: { order }, persistOnchain: order % 7 === 0 }),
    );
    const { value } = await engine.burnBatch(elements, project.call({ idempotencyKey: randomIds.uuid() }));
    expect(value.success).toHaveLength(300);
    expect(new Set(value.success.map(({ txHash }) => txHash)).size).toBe(300);
    expect(value.errors).toHaveLength(300);
    expect(value.errors.every(({ message }) => /burn wallet/.test(message))).toBe(true);
    expect(await tokensOf(chain, project, project.registration.burnWallet)).toBe(0n);
    expect(await engine.status()).toMatchObject({ burned: '0.0003' });
    await opened.destroy();
  });
});
