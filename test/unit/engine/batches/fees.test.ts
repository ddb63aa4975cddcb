/** The costs of batches of several sizes equal the table of the capacity page. */
import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import type { InputOf } from '../../../../src/contract/service.js';
import {
  aPipeline,
  burnAction,
  openTestEngine,
  signApproval,
  type TestEngine,
} from '../../../support/engine.js';
import { isLong } from '../../../support/long.js';

let test: TestEngine | undefined;
afterEach(() => test?.destroy());

/** Rows of the table: pipelines in a batch, fees of each, and rent paid for each, in lamports. */
const ROWS = [
  ...readFileSync('docs/capacity.md', 'utf8').matchAll(/^\| (\d+) pipelines? \| ([\d,]+) \| ([\d,]+) \|$/gm),
].map(([, ...cells]) => cells.map((cell) => Number(cell.replaceAll(',', ''))) as [number, number, number]);

it('has a row for one, ten and a hundred', () => {
  expect(ROWS.map(([count]) => count)).toEqual([1, 10, 100]);
});

it.each(ROWS.slice(0, isLong ? 3 : 2))(
  '%i pipelines: %i lamports of fees and %i of rent each, which comes back',
  async (count, fees, rent) => {
    test = await openTestEngine({ dailyBurn: '1000' });
    const pipelines = Array.from({ length: count }, (_, index) =>
      aPipeline([burnAction(1)], { payload: `{"order":${index}}` }),
    );
    const { value: batch, meta: begun } = await test.engine.initBatch({ pipelines }, test.project.call());
    const { operatorLamports: setUp } = begun.cost ?? expect.fail();
    const setUpFees = 5_000n * BigInt(batch.batch.initResult?.total ?? 0);
    const input = { batchId: batch.batch.id, signedTx: signApproval(test.project.owner, batch) };
    const { meta } = await test.engine.executeBatch(input as InputOf<'executeBatch'>, test.project.call());
    const { operatorLamports } = meta.cost ?? expect.fail();
    const each = (lamports: bigint): number => Math.round(Number(lamports) / count);
    expect([each(operatorLamports), each(setUp - setUpFees)]).toEqual([fees, rent]);
  },
);
