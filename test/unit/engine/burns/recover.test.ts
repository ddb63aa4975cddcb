/** Recovery of abandoned burns: each outcome counts once, whichever engines see it and whatever a fork rolls back. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Trace, TransactionRecord } from '../../../../src/chain/chain.js';
import { decodeTransaction } from '../../../../src/chain/transaction/wire.js';
import type { Engine } from '../../../../src/engine/engine.js';
import { LEASE_MS } from '../../../../src/engine/lease.js';
import { base58Encode } from '../../../../src/values/bytes.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  engineBeside,
  openTestEngine,
  passBlocks,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine({ dailyBurn: '10' });
});
afterEach(() => test.destroy());

const recordOf = (signature: string, more: Partial<TransactionRecord> = {}): TransactionRecord => ({
  ...{
    signature,
    wire: null,
    slot: 7n,
    blockTimeMs: 0,
    error: null,
    logs: [],
    feeLamports: 5_000n,
    computeUnits: 0n,
  },
  ...more,
});

/** A chain whose first block of burns is on a fork; `says` gives their state there while the fork lasts. */
function forked(says: (signature: string) => Trace) {
  const onFork = new Set<string>();
  const sent: string[] = [];
  const fork = { says: says as typeof says | null };
  const chain = chainOver(test.chain, {
    submit: async (transactions, areNew) => {
      const signatures = transactions.map((one) => base58Encode(decodeTransaction(one).signatures[0] ?? one));
      sent.push(...signatures);
      if (fork.says === null) return test.chain.submit(transactions, areNew);
      for (const signature of signatures) onFork.add(signature);
      return signatures.map(() => null);
    },
    trace: async (sought) => {
      const traces = await test.chain.trace(sought);
      const { says: own } = fork;
      return own === null ? traces : sought.map(({ signature }) => own(signature));
    },
  });
  return { fork, sent, engine: engineBeside(test, { chain }), beside: () => engineBeside(test, { chain }) };
}

const confirmed = (signature: string): Trace => ({
  ...{ kind: 'landed', record: recordOf(signature), isFinal: false },
});

const call = () => test.project.call({ idempotencyKey: 'key-1' });
const states = async (engine: Engine) => {
  const { items } = (await engine.listBurns({}, test.project.call())).value;
  const own = await test.store.read((tx) => tx.burns.list({ tokenId: items[0] ? tokenId() : '', limit: 9 }));
  return [items.map(({ status }) => status), own.items.map(({ status }) => status)].map(String);
};
const tokenId = () => test.project.registration.tokenId;
const counted = () =>
  test.store.read(async (tx) => {
    const day = await tx.usage.latestDay(tokenId());
    return day === undefined ? 0n : tx.usage.used({ tokenId: tokenId(), day, kind: 'burn' });
  });

it('is a success from when it is confirmed, and counts once when it is final', async () => {
  const { engine, fork } = forked(confirmed);
  const { value } = await engine.burn(aBurnRequest(3), call());
  expect(await states(engine)).toEqual(['SUCCESS', 'CONFIRMED']);
  await engine.reconcile();
  expect(await states(engine)).toEqual(['SUCCESS', 'CONFIRMED']);
  expect(await counted()).toBe(3_000_000n);
  await expect(engine.burn(aBurnRequest(8), test.project.call())).rejects.toMatchObject({
    code: 'ERR_DAILY_LIMIT_EXCEEDED',
  });
  fork.says = (signature) => ({ kind: 'landed', record: recordOf(signature), isFinal: true });
  await Promise.all([engine.reconcile(), engine.watch()]);
  expect(await states(engine)).toEqual(['SUCCESS', 'FINAL']);
  expect(await counted()).toBe(3_000_000n);
  expect((await engine.burn(aBurnRequest(3), call())).value).toEqual(value);
});

it('is sent again as the same bytes where a fork has taken it back, and its answer stays', async () => {
  const { engine, fork, sent } = forked(confirmed);
  const first = await engine.burn(aBurnRequest(3), call());
  fork.says = null;
  // Watching sends nothing.
  expect([await engine.watch(), sent.length]).toEqual([0, 1]);
  await engine.reconcile();
  expect(sent).toEqual([first.value.txHash, first.value.txHash]);
  expect(await states(engine)).toEqual(['SUCCESS', 'CONFIRMED']);
  await engine.reconcile();
  expect(await states(engine)).toEqual(['SUCCESS', 'FINAL']);
  expect(await engine.burn(aBurnRequest(3), call())).toMatchObject({
    value: first.value,
    meta: { replayed: true },
  });
  expect(await counted()).toBe(3_000_000n);
});

it('is pending again once its bytes can land no more, for the first engine that sees it, and then has a new outcome', async () => {
  const { engine, fork, beside } = forked(confirmed);
  const first = await engine.burn(aBurnRequest(3), call());
  fork.says = null;
  await passBlocks(test, 300);
  const taken = await Promise.all([engine.watch(), beside().watch(), beside().watch()]);
  expect(taken.toSorted()).toEqual([0, 0, 1]);
  expect(await states(engine)).toEqual(['PENDING', 'PENDING']);
  expect(await engine.reconcile()).toMatchObject({ burns: 1 });
  const again = await engine.burn(aBurnRequest(3), call());
  expect(again.value.txHash).not.toBe(first.value.txHash);
  expect(await states(engine)).toEqual(['SUCCESS', 'FINAL']);
  expect([(await engine.status()).burned, await counted()]).toEqual(['3', 3_000_000n]);
});

it('is told as failed where it failed on the fork that stands, and counts no more', async () => {
  const { engine, fork } = forked(confirmed);
  await engine.burn(aBurnRequest(3), call());
  const error = { kind: 'other', text: 'AccountNotFound' } as never;
  fork.says = (signature) => ({ kind: 'landed', record: recordOf(signature, { error }), isFinal: true });
  await engine.reconcile();
  expect(await states(engine)).toEqual(['FAILED', 'FAILED']);
  expect(await counted()).toBe(0n);
  await expect(engine.burn(aBurnRequest(3), call())).rejects.toMatchObject({
    code: 'ERR_BURN_TOKENOMICS_FAILED',
  });
});

it('stays as it is while its request is worked on, whose answer would not know', async () => {
  const { engine, fork } = forked(confirmed);
  await engine.burn(aBurnRequest(3), call());
  await test.store.transaction(async (tx) => {
    const request = await tx.requests.find({ tokenId: tokenId(), operation: 'burn', value: 'key-1' });
    await tx.requests.reopen(request?.id ?? '');
    await tx.requests.take(request?.id ?? '', { holder: 'me', leaseUntilMs: tx.nowMs + 9_000 });
  });
  fork.says = null;
  await passBlocks(test, 300);
  expect(await engine.watch()).toBe(0);
  expect(await states(engine)).toEqual(['SUCCESS', 'CONFIRMED']);
});

it('is carried on by nobody while somebody holds it, and by one whose clock was set back since', async () => {
  const dead = chainOver(test.chain, { submit: () => Promise.reject(new Error('killed')) });
  const burning = engineBeside(test, { chain: dead }).burn(aBurnRequest(3), call());
  await expect(burning).rejects.toThrow();
  const holdUntil = (leaseMs: number) =>
    test.store.transaction(async (tx) => {
      const request = await tx.requests.find({ tokenId: tokenId(), operation: 'burn', value: 'key-1' });
      const lease = { holder: 'another', leaseUntilMs: tx.nowMs + leaseMs };
      if (request !== undefined) await tx.requests.take(request.id, lease);
    });
  await holdUntil(LEASE_MS - 1_000);
  expect(await test.engine.reconcile()).toMatchObject({ burns: 0 });
  await holdUntil(2 * LEASE_MS);
  expect(await Promise.all([1, 2, 3].map(() => engineBeside(test).reconcile()))).toContainEqual(
    expect.objectContaining({ burns: 1 }),
  );
  expect([(await test.engine.status()).burned, await counted()]).toEqual(['3', 3_000_000n]);
});
