/** Chains and stores that differ from the real ones in one method. */
import { setTimeout } from 'node:timers/promises';
import type { Chain } from '../../src/chain/chain.js';
import { traceByLookUp } from '../../src/chain/local/local-chain.js';
import type { Lease } from '../../src/engine/lease.js';

/** A proxy: members that are not replaced, also later ones, stay those of the object. */
export const replacing = <Thing extends object>(thing: Thing, parts: Partial<Thing>): Thing =>
  new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(parts, name)) return Reflect.get(parts, name);
      const own: unknown = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });

/** A chain without fees beyond those of signatures, which traces by these methods. */
export function chainOver(chain: Chain, parts: Partial<Chain>): Chain {
  const over: Chain = replacing(chain, {
    trace: async (sought) => traceByLookUp(over, sought, await over.expiredHeight()),
    fees: null,
    ...parts,
  });
  return over;
}

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
