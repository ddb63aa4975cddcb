/** Two engines that see the same burn taken back: the second finds it taken up, and touches nothing. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reopenBurns } from '../../../../src/engine/burns/taken-back.js';
import type { WatchedLanding } from '../../../../src/store/records.js';
import { openTestEngine, type TestEngine } from '../../../support/engine.js';
import {
  aBurn,
  aRequest,
  openTemporarySqliteStore,
  register,
  type StoreUnderTest,
  success,
} from '../../../support/store.js';

const seen = {
  ...{
    tokenId: 'token-1',
    sequence: 1,
    requestId: 'request-1',
    signature: 'signature 1',
    slot: 7n,
  },
} as const satisfies WatchedLanding;

let test: TestEngine;
let under: StoreUnderTest;

beforeEach(async () => {
  test = await openTestEngine();
  under = await openTemporarySqliteStore();
  await register(under.store);
  await under.store.transaction(async (tx) => {
    await tx.burns.insertMany(aRequest(), [aBurn(1)]);
    await tx.burns.settleMany([success(1, seen.slot)]);
    await tx.usage.addLanded(
      { ...usage, day: success(1).dateSettled.slice(0, 10) as typeof usage.day },
      1_500_000n,
    );
    await tx.requests.complete('request-1', '{}');
  });
});
afterEach(async () => {
  await under.dispose();
  await test.destroy();
});

const usage = { tokenId: 'token-1', kind: 'burn', day: '' as never } as const;
const reopen = () => reopenBurns({ ...test.deps, store: under.store }, 'request-1', [seen]);
const state = () =>
  under.store.read(async (tx) => ({
    request: (await tx.requests.get('request-1'))?.status,
    burn: (await tx.burns.ofRequest('request-1'))[0]?.status,
    watched: (await tx.landings.waiting()).length,
  }));

it('takes a burn up once', async () => {
  await reopen();
  expect(await state()).toEqual({ request: 'running', burn: 'PENDING', watched: 0 });
  await reopen();
  expect(await state()).toEqual({ request: 'running', burn: 'PENDING', watched: 0 });
});

it('has what is to be sent again', async () => {
  await reopen();
  const [burn] = await under.store.read((tx) => tx.burns.ofRequest('request-1'));
  expect(burn?.transaction).toEqual(aBurn(1).transaction);
});

it('leaves alone what has landed again under another signature, and the answer that tells of it', async () => {
  await reopen();
  await under.store.transaction(async (tx) => {
    const signed = { signature: 'signature 2', transaction: new Uint8Array([2]), lastValidBlockHeight: 9n };
    await tx.burns.resign(1, 'signature 1', signed);
    await tx.burns.settleMany([success(1, seen.slot)]);
    await tx.requests.complete('request-1', '{"again":true}');
  });
  await reopen();
  expect(await state()).toEqual({ request: 'done', burn: 'SUCCESS', watched: 1 });
});
