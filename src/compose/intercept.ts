/** Wraps the calls of an engine's store and chain: with a check before the first, or a measurement of each. */
import type { Chain } from '../chain/chain.js';
import type { Measured } from '../contract/served-engine.js';
import type { Store } from '../store/store.js';

const intercept = <Target extends object>(
  target: Target,
  around: (method: string, call: () => unknown) => unknown,
): Target =>
  new Proxy(target, {
    get: (_target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function' || typeof name !== 'string') return value;
      return (...args: readonly unknown[]): unknown => around(name, () => Reflect.apply(value, target, args));
    },
  });

/** Runs `work` until it succeeds once; concurrent calls share one run. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

/** Delays each call until `check` has passed. All methods of {@link Chain} are asynchronous. */
export function checkedChain(chain: Chain, check: () => Promise<void>): Chain {
  const verify = once(check);
  return intercept(chain, async (_method, call) => {
    await verify();
    return call();
  });
}

const TRANSACTIONS: Readonly<Record<string, 'read' | 'write'>> = {
  ...{ transaction: 'write', read: 'read', findKey: 'read', reserve: 'write' },
};

const timed = <Target extends object>(
  target: Target,
  tell: (method: string, seconds: number) => void,
): Target =>
  intercept(target, (method, call) => {
    const startMs = performance.now();
    const answer = call();
    if (!(answer instanceof Promise)) return answer;
    return answer.finally(() => tell(method, (performance.now() - startMs) / 1_000));
  });

/** Reports the duration of each store transaction and each chain call. */
export const measured = (
  { store, chain }: { readonly store: Store; readonly chain: Chain },
  onMeasured: (measured: Measured) => void,
): { readonly store: Store; readonly chain: Chain } => ({
  store: timed(store, (method, seconds) => {
    const kind = TRANSACTIONS[method];
    if (kind !== undefined) onMeasured({ what: 'transaction', kind, seconds });
  }),
  chain: timed(chain, (method, seconds) => onMeasured({ what: 'chain', method, seconds })),
});
