import type { EngineParts } from '../../../src/engine/deps.js';
import type { Engine } from '../../../src/engine/engine.js';
import { chainOver, replacing } from '../../support/doubles.js';
import { engineBeside, type TestEngine } from '../../support/engine.js';

/** Dies as it sends its `at`-th list of burns or of bundles, of which `sent` reach the chain, and stores nothing any more. */
export function dyingEngine(
  test: TestEngine,
  { at = 1, sent = 0 }: { readonly at?: number; readonly sent?: number } = {},
  parts: Partial<EngineParts> = {},
): Engine {
  const { chain, store } = test;
  let isDead = false;
  const until = <Item, Answer>(send: (items: readonly Item[]) => Promise<Answer>) => {
    let lists = 0;
    return async (items: readonly Item[]): Promise<Answer> => {
      lists += 1;
      if (lists < at) return send(items);
      await send(items.slice(0, sent));
      isDead = true;
      test.passLease();
      throw new Error('killed');
    };
  };
  return engineBeside(test, {
    chain: chainOver(chain, {
      submit: until((transactions) => chain.submit(transactions)),
      submitBundles: until((bundles) => chain.submitBundles(bundles)),
    }),
    store: replacing(store, {
      transaction: (work, of) => (isDead ? Promise.reject(new Error('killed')) : store.transaction(work, of)),
    }),
    ...parts,
  });
}
