/** One at a time for each name that is in use, in the order of asking. */

interface Waiting {
  readonly go: () => void;
  readonly fail: (error: Error) => void;
}

/** Those who wait behind the one that has it. */
interface Queue {
  readonly waiting: Waiting[];
  timer?: NodeJS.Timeout;
}

export class Mutex {
  readonly #patienceMs: number;
  readonly #overdue: () => Error;
  readonly #queues = new Map<string, Queue>();

  /**
   * @param patienceMs - for how long one may keep the others waiting: a queue may be long, and only must not stand still.
   * @param overdue - why they wait no longer.
   */
  constructor(patienceMs: number, overdue: () => Error) {
    this.#patienceMs = patienceMs;
    this.#overdue = overdue;
  }

  /** @throws what `overdue` makes, when one before it takes too long. */
  async run<Result>(work: () => Promise<Result>, name = ''): Promise<Result> {
    await this.#take(name);
    try {
      return await work();
    } finally {
      this.#give(name);
    }
  }

  async #take(name: string): Promise<void> {
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, { waiting: [] });
      return;
    }
    await new Promise<void>((go, fail) => {
      queue.waiting.push({ go, fail });
      if (queue.waiting.length === 1) this.#watch(queue);
    });
  }

  #give(name: string): void {
    const queue = this.#queues.get(name);
    const next = queue?.waiting.shift();
    if (queue !== undefined) this.#watch(queue);
    // In a turn of the event loop of its own: many in a row would keep the sockets waiting.
    if (next !== undefined) setImmediate(next.go);
    else this.#queues.delete(name);
  }

  #watch(queue: Queue): void {
    clearTimeout(queue.timer);
    if (queue.waiting.length === 0) return;
    queue.timer = setTimeout(() => {
      for (const { fail } of queue.waiting.splice(0)) fail(this.#overdue());
    }, this.#patienceMs);
  }
}
