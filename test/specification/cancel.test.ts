/** Cancelling a batch over HTTP (contract, section 1.7): during set-up, and while members act at the same time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HandClock } from '../support/chain.js';
import { replacing } from '../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  passBlocks,
  signApproval,
  signVote,
  type TestEngine,
} from '../support/engine.js';
import { startServer } from '../support/http.js';
import {
  addThirdMember,
  approveOutside,
  cancelOutside,
  executeOutside,
  staleAccounts,
} from '../support/other-tools.js';
import { drain } from '../support/payments.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

type Chain = TestEngine['chain'];

/** Sends requests to an engine whose chain has replaced methods. */
async function serving<Result>(
  parts: Partial<Chain>,
  use: (
    ask: (path: string, body?: object) => Promise<{ status: number; body: ReturnType<typeof JSON.parse> }>,
  ) => Promise<Result>,
): Promise<Result> {
  const engine = engineBeside(test, { chain: replacing(test.chain, parts) });
  const server = await startServer({ engine });
  try {
    return await use(async (path, body) => {
      const answer = await fetch(`${server.url}/v1/flywheel/batch/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-service-api-key': test.project.key.reveal(), 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.status, body: await answer.json() };
    });
  } finally {
    await server.closeGracefully(5_000);
  }
}

const burning = (count: number) => ({
  pipelines: Array.from({ length: count }, () => aPipeline([burnAction(1)])),
});

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
    await passBlocks(test, 150);
    await serving({}, async (ask) => {
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
    await executeOutside(test, init, 2);
    await cancelOutside(test, init);
    // These members use the operator's key. A chain search for lost transactions would take them for the engine's own.
    const history = async () => [];
    await serving({ getAccounts, history, pollMs: 1 }, async (ask) => {
      const path = operation === 'cancel' ? `${id}/cancel` : 'execute';
      expect((await ask(path, operation === 'cancel' ? {} : { batchId: id })).status).toBe(200);
      expect(asked).toBeGreaterThan(2);
      const result = { total: 3, totalSuccessful: 2, totalFailed: 1 };
      expect((await ask(id)).body).toMatchObject({ status: 'FAILED', executeResult: result });
    });
    expect((await test.engine.status()).usedToday.burn).toBe('2');
  });

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
