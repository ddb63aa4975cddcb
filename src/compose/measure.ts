/** Measures what an engine waits for, from outside: its store and its chain, whichever they are. */
import type { Chain } from '../chain/chain.js';
import type { Measured } from '../http/options.js';
import type { Store } from '../store/store.js';
import { intercept } from './intercept.js';

const TRANSACTIONS: Readonly<Record<string, 'read' | 'write'>> = {
  ...{ transaction: 'write', read: 'read', findKey: 'read', reserve: 'write' },
};

/** The same object; what it answers later is timed. */
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

/** The same store and chain, which tell how long each transaction and each question took. */
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
