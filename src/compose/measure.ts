/**
 * Measures what an engine waits for, from outside: its store and its chain, whichever they are. Who listens gets seconds under the
 * names of {@link Measured}; without a listener nothing is measured.
 */
import type { Chain } from '../chain/chain.js';
import type { Measured } from '../http/options.js';
import type { Store } from '../store/store.js';

/** Takes what was measured, once there is somebody who wants it. */
export class Meter {
  #observe: ((measured: Measured) => void) | undefined;

  /** From now on it is told. */
  attach(observe: (measured: Measured) => void): void {
    this.#observe = observe;
  }

  /** The same store. */
  store(store: Store): Store {
    return {
      get copy() {
        return store.copy;
      },
      get lineage() {
        return store.lineage;
      },
      progress: () => store.progress(),
      bind: (genesis) => store.bind(genesis),
      latestMs: () => store.latestMs(),
      transaction: (work, of) => this.#timed('write', store.transaction(work, of)),
      read: (work) => this.#timed('read', store.read(work)),
      findKey: (hash, asked) => this.#timed('read', store.findKey(hash, asked)),
      close: () => store.close(),
    };
  }

  /** The same chain; every method that it answers later is timed under its name. */
  chain(chain: Chain): Chain {
    return new Proxy(chain, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function' || typeof name !== 'string') return value;
        return (...args: readonly unknown[]): unknown => {
          const startMs = performance.now();
          const answer: unknown = Reflect.apply(value, target, args);
          if (!(answer instanceof Promise)) return answer;
          return answer.finally(() => this.#say({ what: 'chain', method: name, seconds: since(startMs) }));
        };
      },
    });
  }

  async #timed<Result>(kind: 'read' | 'write', run: Promise<Result>): Promise<Result> {
    const startMs = performance.now();
    return run.finally(() => this.#say({ what: 'transaction', kind, seconds: since(startMs) }));
  }

  #say(measured: Measured): void {
    this.#observe?.(measured);
  }
}

const since = (startMs: number): number => (performance.now() - startMs) / 1_000;
