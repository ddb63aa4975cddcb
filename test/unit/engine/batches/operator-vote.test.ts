/** The operator's vote of a dead engine, while the node does not show it yet. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proposalAddress } from '../../../../src/chain/squads/addresses.js';
import type { Address } from '../../../../src/values/address.js';
import { chainOver, replacing } from '../../../support/doubles.js';
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

function dyingVoter() {
  const { store, chain } = test;
  let dead = false;
  return engineBeside(test, {
    chain: chainOver(chain, {
      submitBundles: async (bundles) => {
        await chain.submitBundles(bundles);
        dead = true;
        test.passLease();
        throw new Error('killed');
      },
    }),
    store: replacing(store, {
      transaction: (work) => (dead ? Promise.reject(new Error('killed')) : store.transaction(work)),
    }),
  });
}

describe("an operator's vote that has landed, and whose engine died", () => {
  it.each([1, 2, 3, 4])(
    'is counted once where %i reads still show the proposal without it',
    async (staleReads) => {
      const { value } = await test.engine.initBatch(
        { pipelines: [aPipeline([burnAction(3)])] },
        test.project.call(),
      );
      const { id, multisig, batchIndex } = value.batch;
      const proposal = proposalAddress(multisig as Address, BigInt(batchIndex)).address;
      const request = { batchId: id, signedTx: signApproval(test.project.owner, value) };
      const { chain } = test;
      // The owner's vote is on chain, the operator's is not yet.
      const ownerOnly = chainOver(chain, { submitBundles: () => Promise.reject(new Error('killed')) });
      await expect(
        engineBeside(test, { chain: ownerOnly }).executeBatch(request, test.project.call()),
      ).rejects.toThrow();
      const [before] = await chain.getAccounts([proposal]);
      await expect(dyingVoter().executeBatch(request, test.project.call())).rejects.toThrow();

      let reads = 0;
      const behind = chainOver(chain, {
        getAccounts: async (addresses) => {
          const accounts = await chain.getAccounts(addresses);
          const at = addresses.indexOf(proposal);
          if (at < 0 || reads >= staleReads) return accounts;
          reads += 1;
          return accounts.map((account, index) => (index === at ? (before ?? null) : account));
        },
      });
      const next = engineBeside(test, { chain: behind });
      const done = await next.executeBatch(request, test.project.call());
      expect(done.value.result).toMatchObject({ totalSuccessful: 1, totalFailed: 0 });
      expect((await test.engine.status()).burned).toBe('3');
      const bundles = await test.store.read((tx) => tx.bundles.ofBatch(id));
      expect(bundles.filter(({ phase }) => phase === 'OPERATOR_APPROVAL')).toMatchObject([
        { status: 'LANDED' },
      ]);
    },
  );
});
