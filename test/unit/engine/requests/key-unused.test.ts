/** "This key was not used" is said of a refusal only when no try with the key can have done anything, or still do it. */
import { afterEach, describe, expect, it } from 'vitest';
import { FlywheelError, isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { Secret } from '../../../../src/values/secret.js';
import { chainOver, replacing } from '../../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
afterEach(() => test.destroy());

const keyed = (idempotencyKey: string) => test.project.call({ idempotencyKey });
const said = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => expect.fail('was accepted'),
    (reason: unknown) => reason,
  );
  if (!isFlywheelError(error)) throw error;
  return [error.code, error.options.keyUnused];
};

describe('a refusal says that its key was not used', () => {
  it('when nothing was stored: by its cause, shape, caps, balances, funds and rent', async () => {
    test = await openTestEngine(
      { dailyBurn: '10', burnWalletTokens: '5', vaultTokens: '5' },
      { limits: { maxOpenRentLamports: 10_000_000n } },
    );
    const init = (...amounts: number[]) =>
      test.engine.initBatch(
        { pipelines: amounts.map((amount) => aPipeline([burnAction(amount)])) },
        keyed('key-1'),
      );
    const height = await test.chain.blockHeight();
    expect([
      await said(test.engine.burn(aBurnRequest(6), keyed('key-1'))),
      await said(test.engine.burn(aBurnRequest(0), keyed('key-1'))),
      await said(test.engine.burn(aBurnRequest(1, { type: 'x'.repeat(20_000) }), keyed('key-1'))),
      await said(init(6)),
      await said(init()),
      await said(init(1, 1, 1, 1)),
    ]).toEqual([
      ['ERR_BURN_TOKENOMICS_FAILED', true],
      ['ERR_BURN_TOKENOMICS_FAILED', true],
      ['ERR_INVALID_PROOF', true],
      ['ERR_INSUFFICIENT_FUNDS', true],
      ['ERR_INVALID_REQUEST', true],
      ['ERR_INSUFFICIENT_FUNDS', true],
    ]);
    expect(await test.chain.blockHeight()).toBe(height);
    expect(await test.store.read((tx) => tx.requests.running())).toEqual([]);
    expect((await init(1)).meta.replayed).toBe(false);
    expect((await test.engine.burn(aBurnRequest(1), keyed('key-1'))).meta.replayed).toBe(false);
  });

  it('never without a key, and never of another kind of refusal', async () => {
    test = await openTestEngine({ dailyBurn: '1' });
    const narrow = await test.engine.createKey({ scopes: ['airdrop'], proofTypes: null });
    const airdropOnly = { credential: new Secret(narrow.key), idempotencyKey: 'key-1' };
    const pipelines = [aPipeline([burnAction(1)])];
    expect([
      await said(test.engine.burn(aBurnRequest(2), test.project.call())),
      await said(test.engine.burn(aBurnRequest(2), { ...keyed('key-1'), repeatOnly: true })),
      await said(test.engine.burn(aBurnRequest(2), { credential: null, idempotencyKey: 'key-1' })),
      await said(test.engine.burn(aBurnRequest(2), airdropOnly)),
      await said(test.engine.initBatch({ pipelines }, airdropOnly)),
    ]).toEqual([
      ['ERR_DAILY_LIMIT_EXCEEDED', undefined],
      ['ERR_RATE_LIMIT_EXCEEDED', undefined],
      ['ERR_UNAUTHORIZED', undefined],
      ['ERR_KEY_SCOPES_UNAUTHORIZED', undefined],
      ['ERR_KEY_SCOPES_UNAUTHORIZED', undefined],
    ]);
  });

  it('not when something was sent, though it failed', async () => {
    test = await openTestEngine();
    // The wallet is emptied between the look at it and the landing.
    const chain = chainOver(test.chain, {
      submit: async (transactions) =>
        transactions.map(() => ({
          index: 0,
          error: { kind: 'transaction', error: 'AccountNotFound' },
          logs: [],
        })),
    });
    const engine = engineBeside(test, { chain });
    expect(await said(engine.burn(aBurnRequest(1), keyed('key-1')))).toEqual([
      'ERR_BURN_TOKENOMICS_FAILED',
      undefined,
    ]);
  });

  it('not while an engine that died has left the key in use', async () => {
    test = await openTestEngine();
    const chain = chainOver(test.chain, {
      submit: async () => {
        throw new Error('killed');
      },
    });
    const dying = engineBeside(test, { chain });
    await expect(dying.burn(aBurnRequest(1), keyed('key-1'))).rejects.toThrow();
    const malformed = { ...aBurnRequest(1), persistOnchain: 'no' };
    expect(await said(test.engine.burn(malformed as never, keyed('key-1')))).toEqual([
      'ERR_INVALID_REQUEST',
      undefined,
    ]);
  });

  it('not when the store failed, by then or while the key was looked for', async () => {
    test = await openTestEngine({ dailyBurn: '1' });
    const unwritten = replacing(test.store, {
      transaction: (work) =>
        test.store.transaction(async (tx) => {
          const insertMany = async () => {
            throw new Error('disk');
          };
          return work(replacing(tx, { burns: replacing(tx.burns, { insertMany }) }));
        }),
    });
    expect(
      await said(engineBeside(test, { store: unwritten }).burn(aBurnRequest(1), keyed('key-1'))),
    ).toEqual(['ERR_CREATE_API_EVENT_FAILED', undefined]);
    let isGone = false;
    const unread = replacing(test.store, {
      transaction: async (work) => {
        isGone = true;
        return test.store.transaction(work);
      },
      read: async (work) => {
        if (isGone) throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'Gone.');
        return test.store.read(work);
      },
    });
    expect(await said(engineBeside(test, { store: unread }).burn(aBurnRequest(2), keyed('key-1')))).toEqual([
      'ERR_DAILY_LIMIT_EXCEEDED',
      undefined,
    ]);
  });

  it('not while an earlier try with the key has yet to write its record, which it then does', async () => {
    test = await openTestEngine({ dailyBurn: '10' });
    let arrived: () => void = () => undefined;
    let release: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    let looks = 0;
    const chain = chainOver(test.chain, {
      latestBlockhash: async () => {
        looks += 1;
        if (looks === 1) {
          arrived();
          await released;
        }
        return test.chain.latestBlockhash();
      },
    });
    const engine = engineBeside(test, { chain });
    const first = engine.burn(aBurnRequest(1), keyed('key-1'));
    await waiting;
    const { value: started } = await test.engine.initBatch(
      { pipelines: [aPipeline([burnAction(10)])] },
      test.project.call(),
    );
    // As often as it is asked: the end of one try says nothing about the one that still waits.
    for (const _ of [1, 2, 3])
      expect((await said(engine.burn(aBurnRequest(1), keyed('key-1'))))[1]).not.toBe(true);
    await test.engine.cancelBatch({ batchId: started.batch.id }, test.project.call());
    release();
    expect((await first).value.result).toBe('SUCCESS');
    expect((await test.engine.status()).burned).toBe('1');
  });
});
