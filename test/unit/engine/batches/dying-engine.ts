/** An engine in this process that dies between any two effects: what it had sent and stored by then is all that there is of it. */
import type { Engine } from '../../../../src/engine/engine.js';
import { isFlywheelError } from '../../../../src/errors/flywheel-error.js';
import { chainOver, replacing } from '../../../support/doubles.js';
import { engineBeside, type TestEngine } from '../../../support/engine.js';

const KILLED = 'killed';

/**
 * Lets an engine work that dies at its `dieAt`th commit, counted from 1 before and after each; 0 never. Refusals are answers.
 * @throws what is no refusal, and was not thrown because it died.
 */
export async function dyingEngine(
  test: TestEngine,
  dieAt: number,
  work: (engine: Engine) => Promise<void>,
): Promise<void> {
  let passed = 0;
  let isDead = false;
  const point = (): void => {
    passed += 1;
    if (passed === dieAt) {
      isDead = true;
      test.passLease();
    }
    if (isDead) throw new Error(KILLED);
  };
  const around = async <Result>(commit: () => Promise<Result>): Promise<Result> => {
    point();
    const result = await commit();
    point();
    return result;
  };
  const store = replacing(test.store, {
    transaction: (run) => around(() => test.store.transaction(run)),
    read: (run) => (isDead ? Promise.reject(new Error(KILLED)) : test.store.read(run)),
  });
  const chain = chainOver(test.chain, {
    submit: async (transactions) => {
      const receipt = [];
      for (const one of transactions) receipt.push(...(await around(() => test.chain.submit([one]))));
      return receipt;
    },
    submitBundles: async (bundles) => {
      const receipt = [];
      for (const one of bundles) {
        receipt.push(...(await around(() => test.chain.submitBundles([one]))));
        if (receipt.at(-1) !== null) break;
      }
      return receipt;
    },
  });
  try {
    await work(engineBeside(test, { store, chain }));
  } catch (error) {
    if (!isDead && (!isFlywheelError(error) || error.code === 'ERR_INTERNAL')) throw error;
  } finally {
  }
}
