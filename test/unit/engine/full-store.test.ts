/** A store that stops taking writes and takes them again: whoever asks once the leases are over carries on, and nobody does beside another. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { HandClock } from '../../support/chain.js';
import { replacing } from '../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../support/engine.js';

let test: TestEngine;
let engine: Engine;
/** Transactions that still fit. */
let room = Number.POSITIVE_INFINITY;
beforeEach(async () => {
  test = await openTestEngine({}, { clock: new HandClock() });
  room = Number.POSITIVE_INFINITY;
  const { store } = test;
  engine = engineBeside(test, {
    store: replacing(store, {
      transaction: async (work, of) => {
        if (room <= 0) throw new FlywheelError('ERR_STORE_UNAVAILABLE', 'The disk is full.');
        room -= 1;
        return store.transaction(work, of);
      },
    }),
  });
});
afterEach(() => test.destroy());

const FULL = { code: 'ERR_STORE_UNAVAILABLE' };

/** The store takes writes again, and what was left is anybody's. */
function makeRoom(): void {
  room = Number.POSITIVE_INFINITY;
  test.passLease();
}

/** Leaves a burn whose intent is the last that fitted. */
async function leaveBurn() {
  const call = test.project.call({ idempotencyKey: 'key-1' });
  room = 1;
  await expect(engine.burn(aBurnRequest(1), call)).rejects.toMatchObject(FULL);
  return call;
}

describe('a burn whose store was full before its outcome', () => {
  it('is carried on where it was left, and burned once', async () => {
    const call = await leaveBurn();
    makeRoom();
    expect((await engine.burn(aBurnRequest(1), call)).value.result).toBe('SUCCESS');
    expect((await test.engine.status()).burned).toBe('1');
  });

  it.each([0, 1, 2])('is so after tries for which the room was %i transactions', async (rooms) => {
    const call = await leaveBurn();
    for (let tries = 0; tries < 3; tries += 1) {
      room = rooms;
      test.passLease();
      await engine.burn(aBurnRequest(1), call).catch((error: unknown) => expect(error).toMatchObject(FULL));
    }
    makeRoom();
    expect((await engine.burn(aBurnRequest(1), call)).value.result).toBe('SUCCESS');
    expect((await test.engine.status()).burned).toBe('1');
  });

  it('is carried on by one of those that ask at the same moment', async () => {
    const call = await leaveBurn();
    makeRoom();
    const ended = await Promise.allSettled(
      Array.from({ length: 8 }, () => engine.burn(aBurnRequest(1), call)),
    );
    const done = ended.filter(({ status }) => status === 'fulfilled');
    expect(done.length).toBeGreaterThanOrEqual(1);
    for (const each of ended)
      if (each.status === 'rejected')
        expect(each.reason).toMatchObject({ code: 'ERR_DUPLICATE_IDEMPOTENCY_KEY' });
    expect((await test.engine.status()).burned).toBe('1');
  });
});

describe('a batch whose store was full', () => {
  const pipelines = [aPipeline([burnAction(5)])];

  it.each([1, 2, 3])('during init, after %i writes, is set up by the same key', async (writes) => {
    const call = test.project.call({ idempotencyKey: 'key-1' });
    room = writes;
    await expect(engine.initBatch({ pipelines }, call)).rejects.toMatchObject(FULL);
    makeRoom();
    expect((await engine.initBatch({ pipelines }, call)).value.batch.status).toBe('FINALIZED');
  });

  it.each([1, 2, 3, 4])('during execute, after %i writes, is executed once', async (writes) => {
    const { value } = await engine.initBatch({ pipelines }, test.project.call());
    const request = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
    const call = test.project.call({ idempotencyKey: 'key-2' });
    room = writes;
    await engine.executeBatch(request, call).catch((error: unknown) => expect(error).toMatchObject(FULL));
    makeRoom();
    const { result } = (await engine.executeBatch(request, call)).value;
    expect(result.totalSuccessful).toBe(1);
    expect((await test.engine.status()).burned).toBe('5');
  });

  it.each([1, 2, 3])('during cancel, after %i writes, is cancelled', async (writes) => {
    const { value } = await engine.initBatch({ pipelines }, test.project.call());
    const request = { batchId: value.batch.id };
    room = writes;
    await engine
      .cancelBatch(request, test.project.call())
      .catch((error: unknown) => expect(error).toMatchObject(FULL));
    makeRoom();
    const again = await engine.cancelBatch(request, test.project.call());
    expect(again.value).toBeDefined();
  });
});
