/** Reconciling: completes the pending work of dead engines, and leaves that of living ones alone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { randomIds } from '../../../src/values/ids.js';
import { HandClock } from '../../support/chain.js';
import { chainOver } from '../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  drain,
  engineBeside,
  lamportsOf,
  openTestEngine,
  passBlocks,
  signApproval,
  signVote,
  type TestEngine,
} from '../../support/engine.js';
import { approveOutside } from '../../support/other-tools.js';
import { dyingEngine } from './dying-engine.js';

let test: TestEngine;
let clock: HandClock;
beforeEach(async () => {
  clock = new HandClock();
  test = await openTestEngine({ burnWalletTokens: '10', dailyBurn: '100' }, { clock });
});
afterEach(() => test.destroy());

const ALL = Number.POSITIVE_INFINITY;
const burns = [1, 2, 3].map((amount) => aBurnRequest(amount));

describe('reconcile', () => {
  it('gives back the cap of what failed', async () => {
    const call = test.project.call({ idempotencyKey: 'key-1' });
    await expect(dyingEngine(test).burn(aBurnRequest(6), call)).rejects.toThrow();
    await test.engine.burn(aBurnRequest(5), test.project.call());
    expect((await test.engine.status()).usedToday.burn).toBe('11');
    expect(await test.engine.reconcile()).toEqual({ burns: 1, requests: 1, batches: 0 });
    expect(await test.engine.status()).toMatchObject({ burned: '5', usedToday: { burn: '5' } });
    await expect(test.engine.burn(aBurnRequest(6), call)).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: expect.stringContaining('insufficient funds'),
    });
    // Once reported, the failure no longer occupies the key.
    await test.engine.fund({ to: 'burn-wallet', tokens: '1' });
    expect((await test.engine.burn(aBurnRequest(6), call)).value.result).toBe('SUCCESS');
  });
});

/** An engine that dies when this many bundles reach the chain: with them, or right after. */
const dyingAtBundle = (at: number, isSent: boolean) =>
  dyingEngine(test, { at, sent: isSent ? ALL : 0 }, { limits: { ...test.deps.limits, bundlesPerCommit: 1 } });

/** Set up in four bundles; approved, executed in three, and closed in five. */
const pipelines = Array.from({ length: 11 }, () => aPipeline([burnAction(1)]));
const batches = async () => (await test.engine.listBatches({}, test.project.call())).value.items;
const nothing = { burns: 0, requests: 0, batches: 0 };

describe('reconcile of batches', () => {
  it('leaves alone what waits for its owner, and what somebody has begun to end', async () => {
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const request = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
    expect(await test.engine.reconcile()).toEqual(nothing);
    // The operator's approval is on chain, and nothing has been executed.
    await expect(dyingAtBundle(2, false).executeBatch(request, test.project.call())).rejects.toThrow();
    const { value: asked } = await test.engine.cancelBatch({ batchId: value.batch.id }, test.project.call());
    expect(asked.ownerVoteNeeded).toBe(true);
    expect(await test.engine.reconcile()).toEqual(nothing);
    expect(await batches()).toMatchObject([{ status: 'FINALIZED' }]);
    expect((await test.engine.status()).burned).toBe('0');
  });
});

describe('what is left of two projects', () => {
  it('is listed and carried on of the one that is meant, and of all by a server', async () => {
    const other = await test.register({ name: 'Other', symbol: 'OTHER', burnWalletTokens: '10' });
    const projects = [test.project, other];
    for (const project of projects) {
      await expect(
        dyingEngine(test, { sent: ALL }).burn(aBurnRequest(1), project.call({ idempotencyKey: 'k' })),
      ).rejects.toThrow();
      await expect(dyingAtBundle(2, true).initBatch({ pipelines }, project.call())).rejects.toThrow();
    }
    const { engine } = test;
    const left = () =>
      Promise.all(
        [...projects.map(({ registration: { tokenId } }) => ({ tokenId })), {}].map(async (scope) =>
          (await engine.unfinished(scope)).map(({ operation }) => operation),
        ),
      );
    const both = ['burn', 'initBatch'];
    expect(await left()).toEqual([both, both, ['burn', 'burn', 'initBatch', 'initBatch']]);
    await engine.reconcile({ tokenId: other.registration.tokenId });
    expect(await left()).toEqual([both, [], both]);
    expect(await test.engine.reconcile()).toEqual({ burns: 1, requests: 1, batches: 1 });
    expect(await left()).toEqual([[], [], []]);
  });
});

describe('what cannot be brought to its end', () => {
  it('keeps nothing else from its own, and is tried again later and later', async () => {
    await expect(
      dyingEngine(test, { sent: ALL }).burn(aBurnRequest(1), test.project.call({ idempotencyKey: 'key-1' })),
    ).rejects.toThrow();
    await expect(dyingAtBundle(2, true).initBatch({ pipelines }, test.project.call())).rejects.toThrow();
    const {
      burns: [forgotten],
    } = await test.store.read(({ unfinished }) => unfinished.all());
    const signatures = await test.store.read(async ({ burns: all }) =>
      (await all.ofRequest(forgotten ?? '')).map(({ signature }) => signature),
    );
    const isForgotten = (signature: string): boolean => signatures.includes(signature);
    let looks = 0;
    const forgetful = chainOver(test.chain, {
      trace: async (sought) => {
        if (!sought.some(({ signature }) => isForgotten(signature))) return test.chain.trace(sought);
        looks += 1;
        return sought.map(() => ({ kind: 'open', isOver: true }) as const);
      },
    });
    const engine = engineBeside(test, { chain: forgetful });
    const problems: string[] = [];
    const onProblem = (what: string): void => void problems.push(what);
    expect(await engine.reconcile({ onProblem })).toEqual({ ...nothing, batches: 1 });
    expect(problems).toEqual([`the burns of request ${forgotten}`]);
    expect(await batches()).toMatchObject([{ status: 'FINALIZED' }]);
    const passing = async (seconds: number): Promise<number> => {
      clock.timeMs += seconds * 1_000;
      await engine.reconcile({ onProblem });
      return looks;
    };
    expect([await passing(14), await passing(1), await passing(29), await passing(1)]).toEqual([1, 2, 2, 3]);
    // The amount counts against the cap while its outcome is unknown.
    expect((await test.engine.status()).usedToday.burn).toBe('12');
  });

  it('closes a batch that was cancelled, and whose accounts could not be closed then', async () => {
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const batchId = value.batch.id;
    // The vote comes first, then the closing.
    await expect(dyingAtBundle(2, false).cancelBatch({ batchId }, test.project.call())).rejects.toThrow();
    expect(await test.engine.reconcile()).toEqual({ ...nothing, batches: 1 });
    const { meta } = await test.engine.getBatch({ batchId }, test.project.call());
    expect(meta.cost?.operatorLamports).toBeLessThan(100_000n);
    expect(await test.engine.reconcile()).toEqual(nothing);
  });

  it('cancels a batch that its members have approved since a vote against it was signed', async () => {
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const batchId = value.batch.id;
    const cancel = (signed = {}) => test.engine.cancelBatch({ batchId, ...signed }, test.project.call());
    await expect(dyingAtBundle(1, false).cancelBatch({ batchId }, test.project.call())).rejects.toThrow();
    await approveOutside(test, value);
    const { value: asked } = await cancel();
    const { value: ended } = await cancel({ signedTx: signVote(test.project.owner, asked.cancelTx ?? '') });
    expect(ended.batch).toMatchObject({ status: 'FAILED', dateCancelled: expect.any(String) });
    expect((await test.engine.status()).usedToday.burn).toBe('0');
  });

  it('counts what a vote has cost that landed before its engine died, also when the batch is executed', async () => {
    const before = await lamportsOf(test.chain, test.project.registration.operator);
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const batchId = value.batch.id;
    await expect(dyingAtBundle(1, true).cancelBatch({ batchId }, test.project.call())).rejects.toThrow();
    const { meta } = await test.engine.executeBatch(
      { batchId, signedTx: signApproval(test.project.owner, value) },
      test.project.call(),
    );
    const paid = before - (await lamportsOf(test.chain, test.project.registration.operator));
    expect(meta.cost?.operatorLamports).toBe(paid);
  });

  it('says once that the accounts of a batch stay open, and tries it again later and later', async () => {
    const { value } = await test.engine.initBatch({ pipelines }, test.project.call());
    const batchId = value.batch.id;
    const signedTx = signApproval(test.project.owner, value);
    // The last step is the closing, which then cannot pay its fee.
    await dyingAtBundle(5, false).executeBatch({ batchId, signedTx }, test.project.call());
    const operator = test.project.registration.operator;
    await drain(test, operator, 0n);
    const events: string[] = [];
    const engine = engineBeside(test, { onEvent: ({ event }) => void events.push(event) });
    const problems: string[] = [];
    const onProblem = (what: string): void => void problems.push(what);
    const passing = async (seconds: number) => {
      clock.timeMs += seconds * 1_000;
      // A refused transaction is not signed again before the next block.
      await passBlocks(test, 1);
      events.length = 0;
      const { batches: count } = await engine.reconcile({ onProblem });
      return [count, events.filter((event) => event === 'signed').length];
    };
    const tried = [0, 1];
    expect([
      await passing(0),
      await passing(14),
      await passing(1),
      await passing(29),
      await passing(1),
      // The first attempt sends the transaction that was signed before.
    ]).toEqual([[0, 0], [0, 0], tried, [0, 0], tried]);
    expect(problems).toEqual([`the execution of batch ${batchId}`]);
    await test.engine.fund({ to: 'operator', sol: '1' });
    expect(await passing(60)).toEqual([1, 1]);
    expect(events).toContain('reconciled');
    expect(await passing(300)).toEqual([0, 0]);
    expect(problems).toHaveLength(1);
  });

  it('is not begun once it is told to stop', async () => {
    await expect(
      dyingEngine(test, { sent: ALL }).burn(aBurnRequest(1), test.project.call()),
    ).rejects.toThrow();
    expect(await test.engine.reconcile({ signal: AbortSignal.abort() })).toEqual(nothing);
    expect(await test.engine.reconcile()).toEqual({ burns: 1, requests: 1, batches: 0 });
  });
});

describe('what is unfinished', () => {
  it('is told with every signature, until it has come to its end', async () => {
    const call = test.project.call({ idempotencyKey: randomIds.uuid() });
    await expect(dyingEngine(test, { sent: ALL }).burnBatch(burns, call)).rejects.toThrow();
    const init = test.project.call({ idempotencyKey: 'key-1' });
    await expect(dyingAtBundle(2, true).initBatch({ pipelines }, init)).rejects.toThrow();
    const left = await test.engine.unfinished();
    expect(left).toMatchObject([
      {
        operation: 'burnBatch',
        idempotencyKey: call.idempotencyKey,
        running: false,
        signatures: { length: 3 },
      },
      { operation: 'initBatch', idempotencyKey: 'key-1', running: false, signatures: { length: 4 } },
    ]);
    const signatures = left.flatMap((work) => work.signatures);
    expect(new Set(signatures).size).toBe(7);
    await test.engine.reconcile();
    expect(await test.engine.unfinished()).toEqual([]);
  });
});
