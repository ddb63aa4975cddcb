/** Rent comes from the chain's present parameters. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Rent, rentExemptLamports, rentFromEmpty } from '../../../../src/chain/account.js';
import { chainOver } from '../../../support/doubles.js';
import {
  aBurnRequest,
  aPipeline,
  burnAction,
  engineBeside,
  openTestEngine,
  type TestEngine,
} from '../../../support/engine.js';

let test: TestEngine;
beforeEach(async () => {
  test = await openTestEngine();
});
afterEach(() => test.destroy());

const dearer =
  (times: bigint): Rent =>
  (size) =>
    times * rentExemptLamports(size);
const onDearChain = (times: bigint) =>
  engineBeside(test, { chain: chainOver(test.chain, { rent: async () => dearer(times) }) });
const request = { pipelines: [aPipeline([burnAction(1)])] };

describe('rent', () => {
  it('is reserved for a batch as it is on its chain', async () => {
    const { value: usual } = await test.engine.initBatch(request, test.project.call());
    const { value: dear } = await onDearChain(3n).initBatch(request, test.project.call());
    const rentOf = async (id: string): Promise<bigint | undefined> =>
      (await test.store.read((tx) => tx.batches.get(id)))?.setupRentLamports;
    expect(await rentOf(dear.batch.id)).toBe(3n * ((await rentOf(usual.batch.id)) ?? 0n));
  });

  it('decides what a batch and a burn lack', async () => {
    await expect(onDearChain(10_000n).initBatch(request, test.project.call())).rejects.toMatchObject({
      code: 'ERR_INSUFFICIENT_FUNDS',
    });
    await expect(onDearChain(100_000n).burn(aBurnRequest(1), test.project.call())).rejects.toMatchObject({
      code: 'ERR_BURN_TOKENOMICS_FAILED',
      message: expect.stringContaining('for fees and needs'),
    });
  });

  it('of any size is told from that of an account without data, and never too low', () => {
    for (const size of [0, 1, 82, 165, 1_000]) {
      expect(rentFromEmpty(rentExemptLamports(0))(size)).toBe(rentExemptLamports(size));
      expect(rentFromEmpty(1_001n)(size) * 128n).toBeGreaterThanOrEqual(1_001n * BigInt(128 + size));
    }
  });
});
