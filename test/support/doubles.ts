/** Chains and stores that differ from the real ones in one method. */
import { setTimeout } from 'node:timers/promises';
import type { Chain } from '../../src/chain/chain.js';
import { traceByLookUp } from '../../src/chain/local/local-chain.js';
import type { Lease } from '../../src/engine/lease.js';

export function chainOver(chain: Chain, parts: Partial<Chain>): Chain {
  const over: Chain = {
    getAccounts: (addresses) => chain.getAccounts(addresses),
    latestBlockhash: () => chain.latestBlockhash(),
    expiredHeight: () => chain.expiredHeight(),
    rent: () => chain.rent(),
    trace: async (sought) => traceByLookUp(over, sought, await over.expiredHeight()),
    isBlockhashValid: (blockhash) => chain.isBlockhashValid(blockhash),
    pollMs: chain.pollMs,
    history: (account, past) => chain.history(account, past),
    lookUp: (signatures) => chain.lookUp(signatures),
    submit: (transactions, areNew) => chain.submit(transactions, areNew),
    submitBundles: (bundles, areNew) => chain.submitBundles(bundles, areNew),
    fees: null,
    ...parts,
  };
  return over;
}

/** A proxy: members that are not replaced, also later ones, stay those of the object. */
export const replacing = <Thing extends object>(thing: Thing, parts: Partial<Thing>): Thing =>
  new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(parts, name)) return Reflect.get(parts, name);
      const own: unknown = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });

/** An object with these members only; a call of any other fails. */
export const only = <Thing extends object>(parts: Partial<Thing>): Thing =>
  new Proxy(parts, {
    get: (target, name) =>
      Reflect.get(target, name) ??
      // Awaiting an object asks for this member.
      (name === 'then'
        ? undefined
        : () => Promise.reject(new TypeError(`The test did not plan for ${String(name)}.`))),
  }) as Thing;

export const FREE_LEASE: Lease = {
  id: 'test',
  write: () => Promise.reject(new TypeError('Nothing is written.')),
  check: async () => undefined,
  pause: (ms) => setTimeout(ms),
  signal: undefined,
  tell: () => undefined,
  tellSteps: () => undefined,
};
