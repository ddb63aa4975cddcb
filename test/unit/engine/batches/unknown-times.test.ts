/** Blocks whose time is unknown or far ahead, and a chain whose time stands still. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeClock } from '../../../../src/chain/account.js';
import { CLOCK_SYSVAR, SYSTEM_PROGRAM } from '../../../../src/chain/programs.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

const init = async () =>
  (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(1)])] }, test.project.call())).value;

it('a pipeline whose block has no time was executed when it was found', async () => {
  const value = await init();
  const chain = chainOver(test.chain, {
    trace: async (sought) =>
      (await test.chain.trace(sought)).map((trace) =>
        trace.kind === 'landed' ? { ...trace, record: { ...trace.record, blockTimeMs: 0 } } : trace,
      ),
  });
  const engine = engineBeside(test, { chain });
  const body = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
  await engine.executeBatch(body, test.project.call());
  const query = { batchId: value.batch.id };
  const [item] = (await engine.batchPipelines(query, test.project.call())).value.items;
  expect(item).toMatchObject({ state: 'EXECUTED', txHash: expect.any(String) });
  expect(item?.dateExecuted?.slice(0, 4)).toBe(value.batch.dateCreated.slice(0, 4));
});

it('a block that a node dates far ahead counts today, and so does what comes after it', async () => {
  const value = await init();
  const year = 365 * 86_400_000;
  const chain = chainOver(test.chain, {
    pollMs: 1,
    trace: async (sought) =>
      (await test.chain.trace(sought)).map((trace) =>
        trace.kind === 'landed'
          ? { ...trace, record: { ...trace.record, blockTimeMs: trace.record.blockTimeMs + 70 * year } }
          : trace,
      ),
  });
  const body = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
  await engineBeside(test, { chain }).executeBatch(body, test.project.call());
  const [moved] = (await test.engine.history({}, test.project.call())).value.items;
  expect(moved?.date.slice(0, 4)).toBe(value.batch.dateCreated.slice(0, 4));
  expect((await test.engine.status()).usedToday.burn).toBe('1');
});

/** Of a multisig account, after the mark, two keys and the threshold. */
const TIME_LOCK_AT = 8 + 32 + 32 + 2;

it('a time lock of up to a minute is waited out, and not for ever where the chain stands still', async () => {
  const value = await init();
  let aheadMs = 0;
  const clock = { nowMs: () => test.deps.clock.nowMs() + aheadMs };
  const unixTimestamp = BigInt(Math.floor(clock.nowMs() / 1_000));
  const still = { lamports: 1n, owner: SYSTEM_PROGRAM, executable: false };
  const chain = chainOver(test.chain, {
    getAccounts: async (addresses) => {
      if (addresses[0] === CLOCK_SYSVAR) {
        aheadMs += 46_000;
        return [{ ...still, data: encodeClock({ slot: 1n, epoch: 1n, unixTimestamp }) }];
      }
      const states = await test.chain.getAccounts(addresses);
      return states.map((state, at) => {
        if (addresses[at] !== test.project.registration.multisig || state === null) return state;
        const data = Buffer.from(state.data);
        data.writeUInt32LE(10, TIME_LOCK_AT);
        return { ...state, data };
      });
    },
  });
  const body = { batchId: value.batch.id, signedTx: signApproval(test.project.owner, value) };
  await expect(
    engineBeside(test, { chain, clock }).executeBatch(body, test.project.call()),
  ).rejects.toMatchObject({
    code: 'ERR_BATCH_IN_PROGRESS',
    message: expect.stringContaining('the time lock of the multisig ends'),
  });
  expect(aheadMs).toBe(92_000);
});
