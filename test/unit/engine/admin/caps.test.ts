/** Daily caps that change during burns and batches. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InitBatchResult } from '../../../../src/contract/schemas/batch.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import { approveOutside } from '../../../support/other-tools.js';

const DAY_MS = 86_400_000;
const START = Date.parse('2026-01-31T12:00:00.000Z');
let test: TestEngine;
let nowMs = START;
beforeEach(async () => {
  nowMs = START;
  test = await openTestEngine({ dailyBurn: '10' }, { clock: { nowMs: () => nowMs } });
});
afterEach(() => test.destroy());

const burn = (amount: number) => test.engine.burn(aBurnRequest(amount), test.project.call());
const init = async (amount: number): Promise<InitBatchResult> =>
  (await test.engine.initBatch({ pipelines: [aPipeline([burnAction(amount)])] }, test.project.call())).value;
const execute = async (started: InitBatchResult) => {
  const signedTx = signApproval(test.project.owner, started);
  const input = { batchId: started.batch.id, signedTx };
  return (await test.engine.executeBatch(input as never, test.project.call())).value.result;
};
const REFUSED = { code: expect.stringMatching(/^ERR_(DAILY_LIMIT_EXCEEDED|BURN_TOKENOMICS_FAILED)$/) };

describe('a cap', () => {
  it('that is raised or taken away makes room at once, and each change is written down', async () => {
    await burn(10);
    await expect(burn(1)).rejects.toMatchObject(REFUSED);
    expect(await test.engine.setCaps({ burn: '12' })).toMatchObject({
      burn: { used: '10', cap: '12', left: '2' },
      airdrop: { used: '0', cap: null },
    });
    await burn(2);
    await expect(burn(1)).rejects.toMatchObject(REFUSED);
    await test.engine.setCaps({ burn: null, airdrop: '3.5' });
    await burn(100);
    expect(await test.engine.caps()).toMatchObject({
      burn: { used: '112', cap: null, left: null },
      airdrop: { used: '0', cap: '3.5', left: '3.5' },
    });
    const [last, first] = await test.engine.audit({ limit: 2 });
    expect(first).toMatchObject({
      action: 'caps.set',
      detail: { before: { burn: '10', airdrop: null }, after: { burn: '12', airdrop: null } },
    });
    expect(last?.detail).toEqual({
      before: { burn: '12', airdrop: null },
      after: { burn: null, airdrop: '3.5' },
    });
  });

  it('that is lowered leaves nothing, and undoes nothing that was accepted', async () => {
    await burn(3);
    const waiting = await init(6);
    expect(await test.engine.setCaps({ burn: '4' })).toMatchObject({
      burn: { used: '9', cap: '4', left: '0' },
    });
    await expect(burn(1)).rejects.toMatchObject(REFUSED);
    await expect(init(1)).rejects.toMatchObject(REFUSED);
    expect(await execute(waiting)).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
    expect((await test.engine.caps()).burn).toEqual({ used: '9', cap: '4', left: '0' });
    const broken = (await test.store.read((tx) => tx.rules.check())).filter(({ wrong }) => wrong > 0);
    expect(broken).toEqual([]);
  });

  it('that is lowered holds for what takes its room on a later day, or was set up since', async () => {
    const waiting = await init(6);
    await test.engine.setCaps({ burn: '4' });
    nowMs += DAY_MS;
    await expect(execute(waiting)).rejects.toMatchObject({ code: 'ERR_DAILY_LIMIT_EXCEEDED' });
    await test.engine.setCaps({ burn: '6' });
    const { value: fresh } = await test.engine.issueApproval(
      { batchId: waiting.batch.id },
      test.project.call(),
    );
    expect(await execute(fresh)).toMatchObject({ totalSuccessful: 1 });
  });

  it('has room on a later day for what members have approved, or that waits, also after the cap was lowered', async () => {
    const approved = await init(6);
    await approveOutside(test, approved);
    nowMs += DAY_MS;
    await burn(5);
    const over = { code: 'ERR_DAILY_LIMIT_EXCEEDED' };
    await expect(execute(approved)).rejects.toMatchObject(over);
    // What waits without room is none that a lower cap would have to leave alone.
    await test.engine.setCaps({ burn: '9' });
    await expect(execute(approved)).rejects.toMatchObject(over);
    expect((await test.engine.caps()).burn).toEqual({ used: '5', cap: '9', left: '4' });
    nowMs += DAY_MS;
    expect(await execute(approved)).toMatchObject({ totalSuccessful: 1 });
    expect((await test.engine.caps()).burn).toEqual({ used: '6', cap: '9', left: '3' });
  });

  it('cannot be what the token cannot express', async () => {
    await expect(test.engine.setCaps({ burn: '0.0000001' })).rejects.toThrow();
    expect((await test.engine.caps()).burn.cap).toBe('10');
    expect((await test.engine.setCaps({ burn: '0' })).burn).toMatchObject({ cap: '0', left: '0' });
  });
});
