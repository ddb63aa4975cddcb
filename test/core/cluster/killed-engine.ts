/** Engines on a cluster that die before or after any chosen network call. */
import type { RpcNode } from '../../../src/chain/rpc/ask.js';
import { ClusterChain } from '../../../src/chain/rpc/cluster-chain.js';
import { createEngine, type Engine } from '../../../src/engine/engine.js';
import { replacing } from '../../support/doubles.js';
import type { TestEngine } from '../../support/engine.js';
import type { TestNode } from '../../test-cluster/node.js';
import { wayTo } from '../../test-cluster/open-cluster.js';

export interface Death {
  /** Counted from 1 over all engines of a {@link Lives}. */
  readonly call: number;
  /** `before`: the call is not sent. `after`: it is executed, and its answer is lost. */
  readonly when: 'before' | 'after';
}

/** Successive engines over one store and one node. */
export class Lives {
  readonly #test: TestEngine;
  readonly #node: TestNode;
  readonly #death: Death | null;
  #calls = 0;
  /** Whether the engine that was made last has died: what it answers is not heard. */
  hasDied = false;

  constructor(test: TestEngine, node: TestNode, death: Death | null) {
    this.#test = test;
    this.#node = node;
    this.#death = death;
  }

  get calls(): number {
    return this.#calls;
  }

  /** An engine that has no effect after its death. */
  engine(): Engine {
    let isDead = false;
    this.hasDied = false;
    const { store } = this.#test;
    const die = (): never => {
      isDead = true;
      this.hasDied = true;
      this.#test.passLease();
      throw new Error('killed');
    };
    const { node, times } = wayTo(this.#node);
    const mortal: RpcNode = {
      address: node.address,
      post: async (body, terms) => {
        if (isDead) throw new Error('killed');
        this.#calls += 1;
        const isLast = this.#calls === this.#death?.call;
        if (isLast && this.#death?.when === 'before') die();
        const answer = await node.post(body, terms);
        if (isLast || isDead) die();
        return answer;
      },
    };
    const chain = new ClusterChain({
      nodes: [mortal],
      ...{ timeoutMs: 5_000, maxWaitMs: 5_000, ...times },
    });
    const live = <Result>(work: () => Promise<Result>): Promise<Result> =>
      isDead ? Promise.reject(new Error('killed')) : work();
    return createEngine({
      ...this.#test.deps,
      chain,
      store: replacing(store, {
        transaction: (work) => live(() => store.transaction(work)),
        read: (work) => live(() => store.read(work)),
      }),
    });
  }
}
