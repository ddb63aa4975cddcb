/** The moments at which an engine that dies leaves something behind: before and after each commit of its store and its chain. */
import type { Chain } from '../../src/chain/chain.js';
import type { Store } from '../../src/store/store.js';
import { chainOver, replacing } from './doubles.js';

/** What the process is to do, and when it is to die. */
export interface EngineOrder {
  readonly dataDir: string;
  readonly operation: 'burn' | 'burnBatch' | 'initBatch' | 'executeBatch';
  readonly input: unknown;
  readonly key: string;
  readonly idempotencyKey: string;
  /** Number of the point, from 1, at which the process kills itself; `null` for never. */
  readonly killAt: number | null;
}

/** Counts the points of one run, and ends the process at one of them as `kill -9` does. */
export class FaultPoints {
  passed = 0;

  constructor(readonly killAt: number | null) {}

  store(store: Store): Store {
    return replacing(store, { transaction: (work) => this.#around(() => store.transaction(work)) });
  }

  chain(chain: Chain): Chain {
    return chainOver(chain, {
      submit: (transactions) => this.#around(() => chain.submit(transactions)),
      submitBundles: (bundles) => this.#around(() => chain.submitBundles(bundles)),
    });
  }

  async #around<Result>(commit: () => Promise<Result>): Promise<Result> {
    this.#pass();
    const result = await commit();
    this.#pass();
    return result;
  }

  #pass(): void {
    this.passed += 1;
    if (this.passed === this.killAt) process.kill(process.pid, 'SIGKILL');
  }
}
