/** Chains and stores that behave otherwise in the one thing that a test is about. */
import { type Chain, traceByLookUp } from '../../src/chain/chain.js';
import type { Store } from '../../src/store/store.js';

/** The chain with some of its methods replaced. */
export function chainOver(chain: Chain, parts: Partial<Chain>): Chain {
  const over: Chain = {
    getAccounts: (addresses) => chain.getAccounts(addresses),
    latestBlockhash: () => chain.latestBlockhash(),
    blockHeight: () => chain.blockHeight(),
    expiredHeight: () => chain.expiredHeight(),
    rent: () => chain.rent(),
    finality: (landings) => chain.finality(landings),
    trace: (sought) => traceByLookUp(over, sought),
    isBlockhashValid: (blockhash) => chain.isBlockhashValid(blockhash),
    pollMs: chain.pollMs,
    bundleSize: chain.bundleSize,
    pastOf: (account, sinceMs) => chain.pastOf(account, sinceMs),
    lookUp: (signatures) => chain.lookUp(signatures),
    getTransaction: (signature) => chain.getTransaction(signature),
    submit: (transactions, areNew) => chain.submit(transactions, areNew),
    submitBundles: (bundles, areNew) => chain.submitBundles(bundles, areNew),
    ...(chain.newestOf && { newestOf: chain.newestOf }),
    close: () => chain.close(),
    ...parts,
  };
  return over;
}

/** The store with some of its methods replaced. */
export const storeOver = (store: Store, parts: Partial<Store>): Store => ({
  get revision() {
    return store.revision;
  },
  get copy() {
    return store.copy;
  },
  get lineage() {
    return store.lineage;
  },
  progress: () => store.progress(),
  bind: (genesis) => store.bind(genesis),
  latestMs: () => store.latestMs(),
  raiseRevision: (revision) => store.raiseRevision(revision),
  transaction: (work, of) => store.transaction(work, of),
  read: (work) => store.read(work),
  close: () => store.close(),
  ...parts,
});

/** A thing with some of its members replaced; whatever else it has, or comes to have, is its own. */
export const replacing = <Thing extends object>(thing: Thing, parts: Partial<Thing>): Thing =>
  new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(parts, name)) return Reflect.get(parts, name);
      const own: unknown = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
