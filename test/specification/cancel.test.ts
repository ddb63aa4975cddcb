/** Cancelling and executing a batch over HTTP (contract, section 1.7): during set-up, and while members act at the same time. */
import { PublicKey } from '@solana/web3.js';
import * as squads from '@sqds/multisig';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HandClock } from '../support/chain.js';
import { replacing } from '../support/doubles.js';
import {
  aPipeline,
  burnAction,
  drain,
  engineBeside,
  landedCount,
  openTestEngine,
  passBlocks,
  signApproval,
  signVote,
  type TestEngine,
} from '../support/engine.js';
import { startServer } from '../support/http.js';
import {
  activateOutside,
  addOutside,
  addThirdMember,
  approveOutside,
  cancelOutside,
  closeOutside,
  executeOutside,
  memoMessage,
  staleAccounts,
} from '../support/other-tools.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

type Chain = TestEngine['chain'];
type InitBatchResult = Parameters<typeof signApproval>[1];

/** Sends requests to an engine whose chain has replaced methods. */
async function serving<Result>(
  parts: Partial<Chain>,
  use: (
    ask: (
      path: string,
      body?: object,
      key?: string,
    ) => Promise<{ status: number; body: ReturnType<typeof JSON.parse> }>,
    log: readonly string[],
  ) => Promise<Result>,
): Promise<Result> {
  const engine = engineBeside(test, { chain: replacing(test.chain, parts) });
  const server = await startServer({ engine });
  try {
    return await use(async (path, body, key = '') => {
      const answer = await fetch(`${server.url}/v1/flywheel/batch/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'x-service-api-key': test.project.key.reveal(),
          'content-type': 'application/json',
          ...(key && { 'x-idempotency-key': key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    }, server.logLines);
  } finally {
    await server.closeGracefully(5_000);
  }
}

const burning = (count: number) => ({
  pipelines: Array.from({ length: count }, () => aPipeline([burnAction(1)])),
});

/** Transactions that land together. */
const BUNDLE = 4;

const CANCELLED = { status: 'FAILED', dateCancelled: expect.any(String) };

describe('a batch that is cancelled while it is set up', () => {
  it('has no `initResult` where its set-up has come to none', async () => {
    const submitBundles = async (): Promise<never> => {
      throw new TypeError('The chain is out of reach.');
    };
    const id = await serving({ submitBundles }, async (ask) => {
      expect((await ask('init', burning(1))).status).toBe(500);
      return (await ask('current')).body.id;
    });
    await serving({}, async (ask) => {
      // Its opening may still land.
      expect(await ask(`${id}/cancel`, {})).toMatchObject({
        status: 503,
        body: { error: 'ERR_UNAVAILABLE' },
      });
      await passBlocks(test, 150);
      const { body } = await ask(`${id}/cancel`, {});
      expect(body.batch).toMatchObject({ id, ...CANCELLED });
      expect(body.batch).not.toHaveProperty('initResult');
      expect((await ask(id)).body).toEqual(body.batch);
    });
  });

  it('keeps the `initResult` of a set-up that has stopped for a reason', async () => {
    let lists = 0;
    const submitBundles: Chain['submitBundles'] = async (...sent) => {
      lists += 1;
      // The remaining SOL pays for some of the accounts, not for all.
      if (lists === 2) await drain(test, test.project.registration.operator, 12_000_000n);
      return test.chain.submitBundles(...sent);
    };
    await serving({ submitBundles }, async (ask) => {
      expect((await ask('init', burning(6))).status).toBe(500);
      const stopped = (await ask('current')).body;
      expect(stopped).toMatchObject({ status: 'AVAILABLE_TO_QUEUE', initResult: { batchIndex: 1 } });
      const { body } = await ask(`${stopped.id}/cancel`, {});
      expect(body.batch).toMatchObject({ ...CANCELLED, initResult: stopped.initResult });
    });
  });
});

describe('a batch that was set up in part, of which members execute a part', () => {
  it.each([2, BUNDLE])(
    'is cancelled with the %d that they did, which its key does not do again',
    async (done) => {
      const key = crypto.randomUUID();
      let lists = 0;
      const submitBundles: Chain['submitBundles'] = async (bundles) => {
        lists += 1;
        if (lists === 1) return test.chain.submitBundles(bundles);
        await test.chain.submitBundles(bundles.slice(0, 1));
        throw new TypeError('The chain is out of reach.');
      };
      await serving({ submitBundles }, async (ask) => {
        expect((await ask('init', burning(BUNDLE + 2), key)).status).toBe(500);
      });
      const init = { batch: (await test.engine.currentBatch(test.project.call())).value } as InitBatchResult;
      await activateOutside(test, init);
      await approveOutside(test, init);
      expect(await executeOutside(test, init, done)).toBe(true);
      await cancelOutside(test, init);
      await serving({}, async (ask) => {
        const { body } = await ask(`${init.batch.id}/cancel`, {});
        expect(body.batch).toMatchObject({
          ...CANCELLED,
          executeResult: { total: 6, totalSuccessful: done },
        });
        expect((await ask('init', burning(BUNDLE + 2), key)).status).toBe(400);
      });
      const { burned, usedToday } = await test.engine.status();
      expect([burned, usedToday.burn]).toEqual([String(done), String(done)]);
    },
  );
});

describe('a batch that is filled with other transactions while it is set up', () => {
  it.each([
    ['as many as planned', 0, 2],
    ['more', 0, 3],
    ['one after the last', 4, 1],
  ])('is not said to be set up, and not approved: %s', async (_, from, count) => {
    const own = from / BUNDLE;
    let lists = 0;
    const submitBundles: Chain['submitBundles'] = async (bundles) => {
      lists += 1;
      // The first list opens the batch, the second fills it and opens the vote.
      if (lists !== 2) return test.chain.submitBundles(bundles);
      const receipt = await test.chain.submitBundles(bundles.slice(0, own));
      const { value: batch } = await test.engine.currentBatch(test.project.call());
      const others = Array.from({ length: count }, () => memoMessage(test));
      await addOutside(test, { batch } as InitBatchResult, from, others);
      return [...receipt, ...(await test.chain.submitBundles(bundles.slice(own)))];
    };
    await serving({ submitBundles }, async (ask) => {
      expect((await ask('init', burning(from || 2))).body).toMatchObject({ error: 'ERR_BATCH_INIT_FAILED' });
      const { id, status } = (await ask('current')).body;
      expect([status, (await ask(`${id}/approval`, {})).status]).toEqual(['AVAILABLE_TO_QUEUE', 409]);
    });
  });

  it('counts none of what members execute of it', async () => {
    const others = [1, 2].map(() => memoMessage(test));
    let lists = 0;
    const submitBundles: Chain['submitBundles'] = async (bundles) => {
      lists += 1;
      if (lists === 2) await addOutside(test, await current(), 0, others);
      return test.chain.submitBundles(bundles);
    };
    const current = async () =>
      ({ batch: (await test.engine.currentBatch(test.project.call())).value }) as InitBatchResult;
    await serving({ submitBundles }, async (ask) => {
      expect((await ask('init', burning(2))).status).toBe(500);
      const init = await current();
      await approveOutside(test, init);
      expect(await executeOutside(test, init, 2, [], others)).toBe(true);
      const { body } = await ask(`${init.batch.id}/cancel`, {});
      expect(body.batch).toMatchObject({ ...CANCELLED, executeResult: { totalSuccessful: 0 } });
    });
    expect((await test.engine.status()).usedToday.burn).toBe('0');
  });
});

describe('a cancel whose vote comes after the last execution by a member', () => {
  it.each(['owner', 'operator'])('of the %s says that the batch is EXECUTED', async (voter) => {
    const init = (await test.engine.initBatch(burning(2), test.project.call())).value;
    await approveOutside(test, init);
    const faster = async (who: string): Promise<void> => {
      if (who === voter) await executeOutside(test, init, 2);
    };
    const parts: Partial<Chain> = {
      submit: async (...sent) => {
        await faster('owner');
        return test.chain.submit(...sent);
      },
      submitBundles: async (...sent) => {
        await faster('operator');
        return test.chain.submitBundles(...sent);
      },
    };
    await serving(parts, async (ask) => {
      const asked = await ask(`${init.batch.id}/cancel`, {});
      const signedTx = signVote(test.project.owner, asked.body.cancelTx);
      const { status, body } = await ask(`${init.batch.id}/cancel`, { signedTx });
      expect([status, body.batch]).toMatchObject([
        200,
        { status: 'EXECUTED', executeResult: { total: 2, totalSuccessful: 2 } },
      ]);
      expect(body.batch).not.toHaveProperty('dateCancelled');
      expect((await ask(`${init.batch.id}/cancel`, {})).body.batch).toEqual(body.batch);
    });
    const { burned, usedToday } = await test.engine.status();
    expect([burned, usedToday.burn]).toEqual(['2', '2']);
  });
});

describe('a batch whose multisig needs a third vote', () => {
  it('waits for it, says whose it is, and is executed once it is there', async () => {
    const third = await addThirdMember(test);
    const init = (await test.engine.initBatch(burning(1), test.project.call())).value;
    const body = { batchId: init.batch.id, signedTx: signApproval(test.project.owner, init) };
    await serving({}, async (ask) => {
      expect(await ask('execute', body)).toMatchObject({
        status: 409,
        body: {
          error: 'ERR_BATCH_IN_PROGRESS',
          message: expect.stringContaining(`1 more approval, of ${third.address}`),
        },
      });
      await approveOutside(test, init, [third]);
      expect(await ask('execute', body)).toMatchObject({
        status: 200,
        body: { result: { totalSuccessful: 1 } },
      });
    });
  });
});

describe('a batch whose multisig was changed after its set-up', () => {
  it('is not approved any more, says so, and is cancelled', async () => {
    const init = (await test.engine.initBatch(burning(1), test.project.call())).value;
    const signedTx = signApproval(test.project.owner, init);
    const getAccounts = staleAccounts(test);
    const { id } = init.batch;
    await serving({ getAccounts }, async (ask) => {
      for (const answer of [await ask(`${id}/approval`, {}), await ask('execute', { batchId: id, signedTx })])
        expect([answer.status, answer.body.message]).toEqual([
          400,
          expect.stringContaining('can no longer be approved'),
        ]);
      expect((await ask(`${id}/cancel`, {})).status).toBe(200);
    });
  });
});

describe('a batch whose multisig is changed while it is set up', () => {
  it('is filled no further, says that it can only be cancelled, and is', async () => {
    const key = crypto.randomUUID();
    const stale = staleAccounts(test, test.project.registration.operator);
    let lists = 0;
    const parts: Partial<Chain> = {
      submitBundles: (...sent) => {
        lists += 1;
        return test.chain.submitBundles(...sent);
      },
      getAccounts: (...asked) => (lists === 0 ? test.chain.getAccounts(...asked) : stale(...asked)),
    };
    const only = { error: 'ERR_INVALID_REQUEST', message: expect.stringContaining('only cancelled') };
    await serving(parts, async (ask) => {
      expect(await ask('init', burning(BUNDLE + 1), key)).toMatchObject({ status: 400, body: only });
    });
    // The operator is a member again.
    const getAccounts = staleAccounts(test);
    const before = await landedCount(test.chain);
    await serving({ getAccounts }, async (ask) => {
      expect(await ask('init', burning(BUNDLE + 1), key)).toMatchObject({ status: 400, body: only });
      expect(await landedCount(test.chain)).toBe(before);
      const { id } = (await ask('current')).body;
      expect((await ask(`${id}/cancel`, {})).body.batch).toMatchObject(CANCELLED);
    });
  });
});

describe('a batch that is another on chain than the one set up', () => {
  /** Offsets in the account of a batch (squads-v4.md), and from the end of that of a transaction. */
  const [VAULT_INDEX_AT, SIZE_AT, AMOUNT_AT] = [81, 83, -6];

  it.each([
    ['content', 'transaction 2', AMOUNT_AT],
    ['size', '3 transactions', SIZE_AT],
    ['vault', 'vault 1', VAULT_INDEX_AT],
  ] as const)('in its %s is neither approved nor executed', async (what, told, at) => {
    const init = (await test.engine.initBatch(burning(2), test.project.call())).value;
    const { id, batchIndex, multisig } = init.batch;
    const multisigPda = new PublicKey(multisig);
    const [changed] =
      what === 'content'
        ? squads.getBatchTransactionPda({ multisigPda, batchIndex: BigInt(batchIndex), transactionIndex: 2 })
        : squads.getTransactionPda({ multisigPda, index: BigInt(batchIndex) });
    const getAccounts: Chain['getAccounts'] = async (...asked) =>
      (await test.chain.getAccounts(...asked)).map((account, nth) => {
        if (account === null || asked[0][nth] !== changed.toBase58()) return account;
        const data = Uint8Array.from(account.data);
        data.set([(data.at(at) ?? 0) ^ 1], at < 0 ? data.length + at : at);
        return { ...account, data };
      });
    const body = { batchId: id, signedTx: signApproval(test.project.owner, init) };
    await serving({ getAccounts }, async (ask, log) => {
      const refusal = { status: 500, body: { error: 'ERR_BATCH_EXECUTE_FAILED' } };
      const before = await landedCount(test.chain);
      expect(await ask('execute', body)).toMatchObject(refusal);
      expect([await landedCount(test.chain), log.join('')]).toEqual([
        ...[before, expect.stringContaining(`differs from its plan (${told}`)],
      ]);
      await approveOutside(test, init);
      expect(await ask('execute', { batchId: id })).toMatchObject(refusal);
    });
    expect((await test.engine.status()).burned).toBe('0');
    await serving({}, async (ask) =>
      expect((await ask('execute', body)).body.result.totalSuccessful).toBe(2),
    );
  });
});

describe('a multisig from which its members have removed the operator', () => {
  it('takes no batch any more, says so, and nothing is created', async () => {
    const { operator } = test.project.registration;
    await serving({ getAccounts: staleAccounts(test, operator) }, async (ask) => {
      const { status, body } = await ask('init', burning(1));
      expect([status, body]).toMatchObject([
        400,
        { error: 'ERR_FLYWHEEL_NOT_FOUND', message: expect.stringContaining(operator) },
      ]);
    });
    expect((await test.engine.listBatches({}, test.project.call())).value.items).toEqual([]);
  });

  it('carries none on that was begun before', async () => {
    const { operator } = test.project.registration;
    const call = test.project.call({ idempotencyKey: crypto.randomUUID() });
    const submitBundles = async () => {
      throw new Error('killed');
    };
    const dying = engineBeside(test, { chain: replacing(test.chain, { submitBundles }) });
    await expect(dying.initBatch(burning(1), call)).rejects.toThrow();
    const getAccounts = staleAccounts(test, operator);
    const going = engineBeside(test, { chain: replacing(test.chain, { getAccounts }) });
    await expect(going.initBatch(burning(1), call)).rejects.toMatchObject({
      ...{ code: 'ERR_FLYWHEEL_NOT_FOUND', message: expect.stringContaining(operator) },
    });
  });
});

describe('what members have done of a batch', () => {
  it.each(['cancel', 'execute'])('is told by %s once it is final', async (operation) => {
    const init = (await test.engine.initBatch(burning(3), test.project.call())).value;
    await approveOutside(test, init);
    type Account = Awaited<ReturnType<Chain['getAccounts']>>[number];
    const before = new Map<string, Account>();
    let asked = 0;
    const getAccounts: Chain['getAccounts'] = async (addresses, commitment) => {
      const now = await test.chain.getAccounts(addresses);
      if (commitment === 'finalized') {
        asked += 1;
        return asked < 3 ? addresses.map((one) => before.get(one) ?? null) : now;
      }
      for (const [at, one] of addresses.entries()) before.set(one, before.get(one) ?? now[at] ?? null);
      return now;
    };
    const { id } = init.batch;
    // Reads accounts before the members act, for a reader of a state that is not final.
    await serving({ getAccounts }, async (ask) => void (await ask(`${id}/approval`, {})));
    const { multisig } = test.project.registration;
    const acts = () => test.chain.history(multisig as Parameters<Chain['history']>[0], {});
    const { length: earlier } = await acts();
    await executeOutside(test, init, 2);
    await cancelOutside(test, init);
    // These members use the operator's key. A chain search for lost transactions would take them for the engine's own.
    const theirs = new Set((await acts()).slice(0, -earlier).map(({ signature }) => signature));
    const history: Chain['history'] = async (account, past) =>
      (await test.chain.history(account, past)).filter(({ signature }) => !theirs.has(signature));
    await serving({ getAccounts, history, pollMs: 1 }, async (ask) => {
      const path = operation === 'cancel' ? `${id}/cancel` : 'execute';
      expect((await ask(path, operation === 'cancel' ? {} : { batchId: id })).status).toBe(200);
      expect(asked).toBeGreaterThan(2);
      const result = { total: 3, totalSuccessful: 2, totalFailed: 1 };
      expect((await ask(id)).body).toMatchObject({ status: 'FAILED', executeResult: result });
    });
    expect((await test.engine.status()).usedToday.burn).toBe('2');
  });

  it.each(['all of it', 'its end'])(
    'has no end here while the chain does not know %s, after its accounts were closed',
    async (missing) => {
      const init = (await test.engine.initBatch(burning(3), test.project.call())).value;
      await approveOutside(test, init);
      await executeOutside(test, init, 2);
      await cancelOutside(test, init);
      await closeOutside(test, init);
      const { id } = init.batch;
      // The newest transaction that names the batch is the one that closed it.
      const history: Chain['history'] = async (...asked) =>
        missing === 'its end' ? (await test.chain.history(...asked)).slice(1) : [];
      await serving({ history }, async (ask) => {
        for (const answer of [await ask('execute', { batchId: id }), await ask(`${id}/cancel`, {})])
          expect(answer).toMatchObject({ status: 503, body: { error: 'ERR_UNAVAILABLE' } });
        expect((await ask(id)).body).toMatchObject({ status: 'FINALIZED' });
      });
      await serving({}, async (ask) => {
        const { result } = (await ask('execute', { batchId: id })).body;
        expect(result).toMatchObject({ total: 3, totalSuccessful: 2 });
      });
      expect((await test.engine.status()).usedToday.burn).toBe('2');
    },
  );

  it('counts on the day of its block, not on that on which it was found, and is told with its transaction', async () => {
    const clock = new HandClock(Date.parse('2031-05-01T23:59:00Z'));
    await test.destroy();
    test = await openTestEngine({}, { clock });
    const init = (await test.engine.initBatch(burning(3), test.project.call())).value;
    const signedTx = signApproval(test.project.owner, init);
    const { id } = init.batch;
    let lists = 0;
    const submitBundles: Chain['submitBundles'] = async (...sent) => {
      lists += 1;
      // The first list is the operator's approval.
      if (lists > 1) throw new TypeError('The chain is out of reach.');
      return test.chain.submitBundles(...sent);
    };
    await serving({ submitBundles }, async (ask) => {
      expect((await ask('execute', { batchId: id, signedTx })).status).toBe(500);
    });
    await executeOutside(test, init, 2);
    clock.timeMs += 3_600_000;
    await passBlocks(test, 150);
    await serving({}, async (ask) => {
      const { cancelTx } = (await ask(`${id}/cancel`, {})).body;
      const cancelled = await ask(`${id}/cancel`, { signedTx: signVote(test.project.owner, cancelTx) });
      expect(cancelled.body.batch).toMatchObject({ ...CANCELLED, executeResult: { totalSuccessful: 2 } });
    });
    expect((await test.engine.status()).usedToday.burn).toBe('0');
    const { value } = await test.engine.history({}, test.project.call());
    expect(value.items.map(({ date, txHash }) => [date.slice(0, 10), typeof txHash])).toEqual([
      ['2031-05-01', 'string'],
      ['2031-05-01', 'string'],
    ]);
    const asked = { txHash: value.items[0]?.txHash ?? '' };
    const listed = (await test.engine.listBatches(asked, test.project.call())).value.items;
    expect(listed.map((batch) => batch.id)).toEqual([id]);
  });
});
