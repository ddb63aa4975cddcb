/**
 * Measures what an engine waits for, from outside: its store and its chain, whichever they are. Who listens gets seconds under the
 * names of {@link Measured}; without a listener nothing is measured.
 */
import type { Chain } from '../chain/chain.js';
import type { Measured } from '../http/options.js';
import type { Store, StoreTransaction } from '../store/store.js';

type Work<Result> = (tx: StoreTransaction) => Promise<Result>;

/** Takes what was measured, once there is somebody who wants it. */
export class Meter {
  #observe: ((measured: Measured) => void) | undefined;
  #waiting = 0;
  #open = 0;

  /** From now on it is told. */
  attach(observe: (measured: Measured) => void): void {
    this.#observe = observe;
  }

  /** Transactions that wait for a connection or a lock, and those that have theirs. */
  get transactions(): { readonly waiting: number; readonly open: number } {
    return { waiting: this.#waiting, open: this.#open };
  }

  /** The same store. */
  store(store: Store): Store {
    return {
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
      raiseRevision: (revision) => store.raiseRevision(revision),
      latestMs: () => store.latestMs(),
      transaction: (work, of) => this.#timed('write', work, (timed) => store.transaction(timed, of)),
      read: (work) => this.#timed('read', work, (timed) => store.read(timed)),
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

  async #timed<Result>(
    kind: 'read' | 'write',
    work: Work<Result>,
    run: (work: Work<Result>) => Promise<Result>,
  ): Promise<Result> {
    const askedMs = performance.now();
    let begunMs: number | undefined;
    let doneMs: number | undefined;
    this.#waiting += 1;
    try {
      return await run(async (tx) => {
        begunMs = performance.now();
        this.#waiting -= 1;
        this.#open += 1;
        const result = await work(tx);
        doneMs = performance.now();
        return result;
      });
    } finally {
      if (begunMs === undefined) this.#waiting -= 1;
      else this.#open -= 1;
      this.#say({ what: 'wait', kind, seconds: ((begunMs ?? performance.now()) - askedMs) / 1_000 });
      if (begunMs !== undefined) this.#say({ what: 'transaction', kind, seconds: since(begunMs) });
      if (doneMs !== undefined && kind === 'write') this.#say({ what: 'commit', seconds: since(doneMs) });
    }
  }

  #say(measured: Measured): void {
    this.#observe?.(measured);
  }
}

const since = (startMs: number): number => (performance.now() - startMs) / 1_000;
